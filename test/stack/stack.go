// Package stack runs `temper dev` for programs that measure or record it, and
// speaks to its API. It asserts nothing.
package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Process is a child of the stack, as dev.json tells it.
type Process struct {
	Role string `json:"role"`
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// Stack is a running `temper dev`.
type Stack struct {
	cmd  *exec.Cmd
	Dir  string
	done chan struct{} // closed when the process has ended
	end  error         // its end, once done is closed

	APIURL          string    `json:"api_url"`
	RackURL         string    `json:"rack_url"`
	TemporalAddress string    `json:"temporal_address"`
	DatabaseURL     string    `json:"database_url"`
	Processes       []Process `json:"processes"`
}

// Start runs `temper dev` with settings in a fresh folder and waits until
// it is ready.
func Start(ctx context.Context, temper, settings string, args ...string) (*Stack, error) {
	dir, err := os.MkdirTemp("", "temper-bench-")
	if err != nil {
		return nil, err
	}
	// PostgreSQL runs as another user where this is root.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "settings.yaml")
	if err := os.WriteFile(conf, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	all := append([]string{"dev", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--config", conf}, args...)
	cmd := exec.CommandContext(ctx, temper, all...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	log, err := os.Create(filepath.Join(dir, "dev.log"))
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", temper, err)
	}
	s := &Stack{cmd: cmd, Dir: dir, done: make(chan struct{})}
	go func() { s.end = cmd.Wait(); close(s.done) }()
	return s, s.awaitReady(ctx)
}

func (s *Stack) awaitReady(ctx context.Context) error {
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return fmt.Errorf("temper dev ended, see %s/dev.log: %w", s.Dir, s.end)
		case <-deadline:
			return errors.Join(errors.New("temper dev was not ready within 2 minutes"), s.Stop())
		case <-tick.C:
			if s.Read() == nil {
				return nil
			}
		}
	}
}

// Read takes what dev.json says now.
func (s *Stack) Read() error {
	b, err := os.ReadFile(filepath.Join(s.Dir, "data", "dev.json"))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, s)
}

// Stop ends the stack and takes its folder away.
func (s *Stack) Stop() error {
	err := s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(30 * time.Second):
		err = errors.Join(errors.New("temper dev did not stop within 30 s and was killed"), s.cmd.Process.Kill())
		<-s.done
	}
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(s.Dir))
}

// Of are the processes of a role.
func (s *Stack) Of(role string) []Process {
	var out []Process
	for _, p := range s.Processes {
		if p.Role == role {
			out = append(out, p)
		}
	}
	return out
}
