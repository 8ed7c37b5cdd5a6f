package main

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

// process is a child of the stack, as dev.json tells it.
type process struct {
	Role string `json:"role"`
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// stack is a running `temper dev`.
type stack struct {
	cmd  *exec.Cmd
	dir  string
	done chan error

	APIURL          string    `json:"api_url"`
	RackURL         string    `json:"rack_url"`
	TemporalAddress string    `json:"temporal_address"`
	DatabaseURL     string    `json:"database_url"`
	Processes       []process `json:"processes"`
}

// startStack runs `temper dev` with settings in a fresh folder and waits until
// it is ready.
func startStack(ctx context.Context, temper, settings string, args ...string) (*stack, error) {
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
	s := &stack{cmd: cmd, dir: dir, done: make(chan error, 1)}
	go func() { s.done <- cmd.Wait() }()
	return s, s.awaitReady(ctx)
}

func (s *stack) awaitReady(ctx context.Context) error {
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.done:
			return fmt.Errorf("temper dev ended (%v); see %s/dev.log", err, s.dir)
		case <-deadline:
			return errors.Join(errors.New("temper dev was not ready within 2 minutes"), s.stop())
		case <-tick.C:
			if s.read() == nil {
				return nil
			}
		}
	}
}

// read takes what dev.json says now.
func (s *stack) read() error {
	b, err := os.ReadFile(filepath.Join(s.dir, "data", "dev.json"))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, s)
}

// stop ends the stack and takes its folder away.
func (s *stack) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	return os.RemoveAll(s.dir)
}

// of are the processes of a role.
func (s *stack) of(role string) []process {
	var out []process
	for _, p := range s.Processes {
		if p.Role == role {
			out = append(out, p)
		}
	}
	return out
}
