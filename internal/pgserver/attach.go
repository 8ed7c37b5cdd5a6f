package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// attach returns the server that already runs on the folder, nil if none does. It removes a
// postmaster.pid whose process has ended or is another program that got the same number, because
// PostgreSQL would refuse to start for the latter.
func (c *cluster) attach(ctx context.Context) (*Server, error) {
	path := filepath.Join(c.data, "postmaster.pid")
	for {
		pid, port, err := readPidFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if !isPostgres(ctx, pid) {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			return nil, nil
		}
		s := &Server{Pid: pid, Port: port, dir: c.dir, password: c.password, done: make(chan struct{})}
		if port != 0 && s.ping(ctx) == nil {
			go s.watch()
			return s, nil
		}
		select { // it is starting, or stopping
		case <-ctx.Done():
			return nil, fmt.Errorf("process %d runs on %s but does not answer: %w", pid, c.data, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// watch closes done when the process, which is not our child, has ended.
func (s *Server) watch() {
	defer close(s.done)
	for alive(s.Pid) {
		time.Sleep(100 * time.Millisecond) // there is no portable event for the end of a process that is not our child
	}
}

// readPidFile returns pid and port (0 = not written yet) from a postmaster.pid (lines: pid, data
// folder, start time, port, ...).
func readPidFile(path string) (pid, port int, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	lines := strings.Split(string(b), "\n")
	if pid, err = strconv.Atoi(strings.TrimSpace(lines[0])); err != nil || pid <= 0 {
		return 0, 0, nil // half written: nobody's
	}
	if len(lines) > 3 {
		port, _ = strconv.Atoi(strings.TrimSpace(lines[3])) // 0 until it is there
	}
	return pid, port, nil
}

// isPostgres reports whether the process runs and is a postgres. If that can't be found out, it
// returns true, because a second server on the folder would do more harm.
func isPostgres(ctx context.Context, pid int) bool {
	if !alive(pid) {
		return false
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
		return strings.TrimSpace(string(b)) == "postgres"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.Contains(string(out), "postgres")
}

// alive reports whether the process exists and is no zombie. An orphan stays a zombie for ever if
// process 1 does not reap it, as in some containers.
func alive(pid int) bool {
	if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(b), ") ") // "pid (comm) state ..."
	return !strings.HasPrefix(rest, "Z")
}

// startOnOwnThread starts cmd and closes done when it has ended. Linux sends the parent death
// signal when the thread that started cmd ends, so this keeps a thread until then.
func startOnOwnThread(cmd *exec.Cmd, done chan struct{}) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	return <-started
}
