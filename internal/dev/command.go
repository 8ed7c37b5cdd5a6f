package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

const (
	readyWithin = 90 * time.Second // a start waits for PostgreSQL and Temporal
	readyPoll   = 10 * time.Millisecond
	killWithin  = 5 * time.Second
	mostLog     = 16 << 20 // a log larger than this is put aside at the next start
)

// Command is a program to run as a child: its output goes to a file, it has a process group of its own, so that the
// Ctrl-C which ends its parent does not end it first, and on Linux it dies with its parent however that dies.
type Command struct {
	Path      string
	Args      []string
	Env       []string
	LogFile   string
	ReadyFile string        // it writes a Ready there when it is; "" = ready at once
	Within    time.Duration // how long that may take. Default 90 s
}

// Running is a Command that runs.
type Running struct {
	cmd   *exec.Cmd
	ready Ready
	done  chan struct{}
}

// Run starts the command and waits until it is ready. Its life does not depend on ctx after that.
func (c Command) Run(ctx context.Context) (*Running, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Within, readyWithin))
	defer cancel()
	log, from, err := openLog(c.LogFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if c.ReadyFile != "" {
		if err := os.Remove(c.ReadyFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("remove the ready file of the last run: %w", err)
		}
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Env, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	p := &Running{cmd: cmd, done: make(chan struct{})}
	if err := p.start(); err != nil {
		return nil, err
	}
	if c.ReadyFile == "" {
		return p, nil
	}
	if p.ready, err = p.wait(ctx, c.ReadyFile); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), killWithin)
		defer cancel()
		err = errors.Join(err, p.Stop(stop))
		words := written(c.LogFile, from)
		return nil, ifTaken(fmt.Errorf("%w: %s (more in %s)", err, lastWords(words), c.LogFile), words)
	}
	return p, nil
}

// start runs the program from a thread that is kept until it has ended: the kernel sends the signal of the parent's
// death when the starting thread ends.
func (p *Running) start() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // End tells
		}
	}()
	return <-started
}

func (p *Running) wait(ctx context.Context, path string) (Ready, error) {
	for {
		if r, err := ReadReady(path); err == nil {
			return r, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return Ready{}, err
		}
		select {
		case <-p.done:
			return Ready{}, fmt.Errorf("it %s before it was ready", p.End())
		case <-ctx.Done():
			return Ready{}, fmt.Errorf("it was not ready in time: %w", context.Cause(ctx))
		case <-time.After(readyPoll):
		}
	}
}

// Pid is the process's number.
func (p *Running) Pid() int { return p.cmd.Process.Pid }

// MetricsURL is where it said that its metrics are.
func (p *Running) MetricsURL() string { return p.ready.MetricsURL }

// Done is closed when it has ended.
func (p *Running) Done() <-chan struct{} { return p.done }

// End says how it ended, for people; only after Done.
func (p *Running) End() string {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return "was killed by signal " + status.Signal().String()
	}
	return fmt.Sprintf("ended with exit code %d", p.cmd.ProcessState.ExitCode())
}

// Stop asks it to end, and kills it when ctx is done before it has.
func (p *Running) Stop(ctx context.Context) error {
	if p.ended() {
		return nil
	}
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	select {
	case <-p.done:
		return errors.New("it did not end in time and was killed")
	case <-time.After(killWithin):
		return fmt.Errorf("process %d can't be killed", p.Pid())
	}
}

func (p *Running) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// signal reaches the whole process group.
func (p *Running) signal(sig syscall.Signal) error {
	if p.ended() { // its number may be another process's by now
		return nil
	}
	if err := syscall.Kill(-p.Pid(), sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to process group %d: %w", sig, p.Pid(), err)
	}
	return nil
}

// openLog opens a log to go on with, and says where it goes on.
func openLog(path string) (*os.File, int64, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > mostLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, fmt.Errorf("put the old log aside: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, 0, fmt.Errorf("make the folder of logs: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open the log: %w", err)
	}
	from, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, from, nil
}
