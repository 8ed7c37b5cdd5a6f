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

	"go.temper.dev/temper/internal/dev/devfile"
)

const (
	readyTimeout = 90 * time.Second // a role waits for PostgreSQL and Temporal before it is ready
	readyPoll    = 10 * time.Millisecond
	killTimeout  = 5 * time.Second
	maxLog       = 16 << 20 // at the next start a larger log is renamed
)

// Command is a program to run as a child. Its output goes to a file. It has its own process group, so that a Ctrl-C to its
// parent does not reach it before the parent stops it. On Linux the kernel kills it when its parent dies, for whatever reason.
type Command struct {
	Path      string
	Args      []string
	Env       []string
	LogFile   string
	ReadyFile string        // where it writes a Ready once it serves; "" = it is ready at once
	Within    time.Duration // how long it may take to be ready. Default: 90 s
}

// Running is a started Command.
type Running struct {
	cmd   *exec.Cmd
	ready devfile.Ready
	done  chan struct{}
}

// Run starts the command and waits until it is ready. ctx limits the wait only; the command runs until Stop.
func (c Command) Run(ctx context.Context) (*Running, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Within, readyTimeout))
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
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
		defer cancel()
		err = errors.Join(err, p.Stop(stop))
		words := readFrom(c.LogFile, from)
		return nil, asTaken(fmt.Errorf("%w: %s (more in %s)", err, lastError(words), c.LogFile), words)
	}
	return p, nil
}

// start runs the program from a thread that it keeps until the program has ended, because the kernel sends the signal of the
// parent's death when the thread ends that started the program.
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

func (p *Running) wait(ctx context.Context, path string) (devfile.Ready, error) {
	for {
		if r, err := devfile.ReadReady(path); err == nil {
			return r, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return devfile.Ready{}, err
		}
		select {
		case <-p.done:
			return devfile.Ready{}, fmt.Errorf("it %s before it was ready", p.End())
		case <-ctx.Done():
			return devfile.Ready{}, fmt.Errorf("it was not ready in time: %w", context.Cause(ctx))
		case <-time.After(readyPoll):
		}
	}
}

// Pid returns the process id.
func (p *Running) Pid() int { return p.cmd.Process.Pid }

// URL returns where it serves; "" = it serves nothing but metrics.
func (p *Running) URL() string { return p.ready.URL }

// MetricsURL returns where it serves its metrics.
func (p *Running) MetricsURL() string { return p.ready.MetricsURL }

// Done is closed when it has ended.
func (p *Running) Done() <-chan struct{} { return p.done }

// End says how it ended. It must be called after Done only.
func (p *Running) End() string {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return "was killed by signal " + status.Signal().String()
	}
	return fmt.Sprintf("ended with exit code %d", p.cmd.ProcessState.ExitCode())
}

// Stop asks it to end, and kills it if ctx ends first.
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
	case <-time.After(killTimeout):
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

// signal sends sig to the process group.
func (p *Running) signal(sig syscall.Signal) error {
	if p.ended() { // another process may have its id by now
		return nil
	}
	if err := syscall.Kill(-p.Pid(), sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to process group %d: %w", sig, p.Pid(), err)
	}
	return nil
}

// openLog opens a log to append to, and returns its size.
func openLog(path string) (*os.File, int64, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
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
