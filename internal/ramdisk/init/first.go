//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sys/unix"
)

// A service is a program that process 1 starts again whenever it has ended.
type service struct {
	name  string
	argv  func() []string // asked at each start
	ready chan<- struct{} // gets a value when the service says that it is ready, if not nil
	pause *backoff.ExponentialBackOff
	since time.Time
}

func newService(name string, ready chan<- struct{}, argv func() []string) *service {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = time.Second, 30*time.Second
	return &service{name: name, argv: argv, ready: ready, pause: pause}
}

// firstProcess is process 1. If it panics it tells so, ends all others and begins anew: the kernel stops when process 1 ends,
// and nobody could tell whether an agent of before still runs.
func firstProcess() {
	defer func() {
		p := recover()
		say("init panicked and begins anew: %v\n%s", p, debug.Stack())
		time.Sleep(time.Second) // for a person to read it, if it happens again and again
		_ = unix.Kill(-1, unix.SIGKILL)
		say("begin anew: %v", unix.Exec("/init", []string{"/init"}, os.Environ()))
	}()
	mount()
	version, _ := os.ReadFile("/etc/temper-initrd")
	say("Temper's ramdisk, Linux %s", strings.TrimSpace(string(version)))

	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGPIPE)
	running := map[int]*service{}
	again := make(chan *service)
	ready := make(chan struct{}, 1)
	start := func(s *service) {
		pid, err := s.start()
		if err != nil {
			say("%s can't be started: %v", s.name, err)
			later(s, again)
			return
		}
		running[pid] = s
	}
	start(newService("boot", ready, func() []string { return []string{"/init", "boot"} }))
	agent := newService("agent", nil, agentCommand)
	for {
		select {
		case <-ready: // again, if boot was started again
			if agent != nil {
				if _, err := os.Stat(agentProgram); err != nil {
					say("there is no agent in this ramdisk: %v", err)
				} else {
					start(agent)
				}
				agent = nil
			}
		case s := <-again:
			start(s)
		case <-children:
			reap(func(pid int, status unix.WaitStatus) {
				if s := running[pid]; s != nil {
					delete(running, pid)
					say("%s ended %s; it is started again", s.name, how(status))
					later(s, again)
				}
			})
		}
	}
}

// later has a service started again, the later the more often it has ended soon.
func later(s *service, again chan<- *service) {
	if time.Since(s.since) > time.Minute {
		s.pause.Reset()
	}
	time.AfterFunc(s.pause.NextBackOff(), func() { again <- s })
}

// reap takes all children that have ended. Many are no services: the children of services that have ended come to process 1.
func reap(ended func(pid int, status unix.WaitStatus)) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || pid <= 0:
			return
		default:
			ended(pid, status)
		}
	}
}

func how(status unix.WaitStatus) string {
	if status.Signaled() {
		return "by the signal " + unix.SignalName(status.Signal())
	}
	return fmt.Sprintf("with exit code %d", status.ExitStatus())
}

// start starts the service, and sends what it prints to the console.
func (s *service) start() (pid int, err error) {
	s.since = time.Now()
	printed, print, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer print.Close()
	told, tell, err := os.Pipe()
	if err != nil {
		printed.Close()
		return 0, err
	}
	defer tell.Close()
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return 0, errors.Join(err, printed.Close(), told.Close())
	}
	defer nothing.Close()
	argv := s.argv()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Files: []*os.File{nothing, print, print, tell},
		Env:   []string{"PATH=/", "HOME=/root"},
	})
	if err != nil {
		return 0, errors.Join(err, printed.Close(), told.Close())
	}
	go guarded(func() { s.log(printed) })
	go guarded(func() { s.awaitReady(told) })
	pid = p.Pid
	return pid, p.Release() // reap takes it
}

// guarded runs f. A panic of f costs its messages, not process 1.
func guarded(f func()) {
	defer func() {
		if p := recover(); p != nil {
			say("init panicked: %v\n%s", p, debug.Stack())
		}
	}()
	f()
}

func (s *service) log(r io.ReadCloser) {
	defer r.Close()
	lines := bufio.NewReaderSize(r, 800) // the kernel cuts longer lines
	for {
		line, _, err := lines.ReadLine()
		if err != nil {
			return
		}
		say("%s: %s", s.name, line)
	}
}

func (s *service) awaitReady(r io.ReadCloser) {
	defer r.Close()
	if line, err := bufio.NewReader(r).ReadString('\n'); err == nil && line == readyLine && s.ready != nil {
		select {
		case s.ready <- struct{}{}:
		default: // it is known already
		}
	}
}

// readyLine is what a service writes to its file 3 when it is ready.
const readyLine = "ready\n"
