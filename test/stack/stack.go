// Package stack runs `temper dev` for programs that measure, record or disturb it, and is a client of its API. It asserts
// nothing.
package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/dev/devfile"
)

// Process is a child process of the stack, as in dev.json.
type Process struct {
	Role string
	Name string
	PID  int

	MetricsURL string `json:"metrics_url"` // "" = it has none
}

// Stack is a running `temper dev`.
type Stack struct {
	dev    *dev.Running
	temper string
	Dir    string // settings, logs, and the stack's data below it

	APIURL            string
	RackURL           string
	TemporalAddress   string
	TemporalNamespace string
	TemporalReconcile string // namespace of the reconciliations
	DatabaseURL       string
	Processes         []Process
}

const (
	readyWithin = 3 * time.Minute
	stopWithin  = time.Minute
)

// Config says what is started.
type Config struct {
	Temper   string   // the program; temporal-dev is beside it
	Dir      string   // "" = a fresh folder; else one that is empty
	Settings string   // YAML, for all roles
	Args     []string // of temper dev, besides --data, --listen and --config
	Env      []string // added to this process's environment, less its variables for Temper
}

// Start runs `temper dev` with settings in a fresh folder and waits until
// it is ready.
func Start(ctx context.Context, temper, settings string, args ...string) (*Stack, error) {
	return Config{Temper: temper, Settings: settings, Args: args}.Start(ctx)
}

// Start runs it in a fresh folder and waits until it is ready.
func (c Config) Start(ctx context.Context) (*Stack, error) {
	dir, err := c.Dir, error(nil)
	if dir == "" {
		if dir, err = os.MkdirTemp("", "temper-stack-"); err != nil {
			return nil, err
		}
	}
	// If this is root, PostgreSQL runs as another user, who must be able to reach its data.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "settings.yaml")
	if err := os.WriteFile(conf, []byte(c.Settings), 0o600); err != nil {
		return nil, err
	}
	s := &Stack{temper: c.Temper, Dir: dir}
	s.dev, err = dev.Command{
		Path: c.Temper, Env: environ(c.Env), LogFile: filepath.Join(dir, "dev.log"), ReadyFile: s.infoFile(), Within: readyWithin,
		Args: append([]string{"dev", "--data", s.data(), "--listen", "127.0.0.1:0", "--config", conf}, c.Args...),
	}.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("start temper dev: %w", err)
	}
	return s, s.Read()
}

// environ returns this process's environment without variables that would configure the stack.
func environ(more []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "TEMPER_") })
	return append(env, more...)
}

func (s *Stack) data() string     { return filepath.Join(s.Dir, "data") }
func (s *Stack) infoFile() string { return filepath.Join(s.data(), devfile.InfoFile) }

// Read reads dev.json again.
func (s *Stack) Read() error {
	i, err := devfile.ReadInfo(s.infoFile())
	if err != nil {
		return err
	}
	s.APIURL, s.RackURL, s.DatabaseURL = i.APIURL, i.RackURL, i.DatabaseURL
	s.TemporalAddress, s.TemporalNamespace, s.TemporalReconcile = i.TemporalAddress, i.TemporalNamespace, i.TemporalReconcile
	s.Processes = nil
	for _, p := range i.Processes {
		s.Processes = append(s.Processes, Process{Role: p.Role, Name: p.Name, PID: p.Pid})
	}
	return nil
}

// PID returns the present pid of a process; 0 = it does not run. It changes nothing in s.
func (s *Stack) PID(name string) int {
	i, err := devfile.ReadInfo(s.infoFile())
	if err != nil {
		return 0
	}
	for _, p := range i.Processes {
		if p.Name == name {
			return p.Pid
		}
	}
	return 0
}

// Role starts one more process of temper that joins the stack; name is also that of its log. The caller must stop it.
func (s *Stack) Role(ctx context.Context, role, name string, env []string, args ...string) (*dev.Running, error) {
	return s.Begin(ctx, role, filepath.Join(s.data(), devfile.SettingsFile), name, env, args...)
}

// Begin is Role with another file of settings.
func (s *Stack) Begin(ctx context.Context, role, settings, name string, env []string, args ...string) (*dev.Running, error) {
	ready := filepath.Join(s.Dir, name+".ready")
	return dev.Command{
		Path: s.temper, Env: environ(env), LogFile: s.Log(name), ReadyFile: ready,
		Args: append([]string{role, "--config", settings, "--ready-file", ready}, args...),
	}.Run(ctx)
}

// Command returns a command line of temper that asks the stack's API.
func (s *Stack) Command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, s.temper, args...)
	c.Env = environ([]string{"TEMPER_API_URL=" + s.APIURL})
	return c
}

// Log returns the file of a process's log.
func (s *Stack) Log(name string) string { return filepath.Join(s.data(), "logs", name+".log") }

// Stop ends the stack and removes its folder.
func (s *Stack) Stop() error { return errors.Join(s.End(), os.RemoveAll(s.Dir)) }

// End ends the stack and keeps its folder.
func (s *Stack) End() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return s.dev.Stop(ctx)
}

// Of returns the processes of a role.
func (s *Stack) Of(role string) []Process {
	var out []Process
	for _, p := range s.Processes {
		if p.Role == role {
			out = append(out, p)
		}
	}
	return out
}
