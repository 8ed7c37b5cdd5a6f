// Package stack runs `temper dev` for tests and for programs that measure, record or disturb it. It is a client of its API and of
// its rack, and waits for what they show.
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

// Stack is a running `temper dev`.
type Stack struct {
	dev    *dev.Running
	temper string
	data   string
	Dir    string // settings, logs, and the stack's data below it

	APIURL            string
	RackURL           string
	TemporalAddress   string
	TemporalUIURL     string
	TemporalNamespace string
	TemporalReconcile string // namespace of the reconciliations
	DatabaseURL       string
	Processes         []Process
}

const (
	readyWithin = 4 * time.Minute // PostgreSQL may have to be installed
	stopWithin  = time.Minute
)

// Config says what is started.
type Config struct {
	Temper   string   // the program; temporal-dev is beside it
	Dir      string   // where a stack has run before, or which is empty or not there; "" = a new folder
	Settings string   // YAML, for all roles
	Args     []string // of temper dev, besides --data, --listen and --config
	Env      []string // as of Environ
}

// Start runs `temper dev` with settings in a fresh folder and waits until
// it is ready.
func Start(ctx context.Context, temper, settings string, args ...string) (*Stack, error) {
	return Config{Temper: temper, Settings: settings, Args: args}.Start(ctx)
}

// Start runs it and waits until it is ready.
func (c Config) Start(ctx context.Context) (_ *Stack, err error) {
	if c.Dir == "" {
		c.Dir, err = MakeFolder()
	} else {
		err = os.MkdirAll(c.Dir, 0o755)
	}
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(c.Dir, "settings.yaml")
	if err := os.WriteFile(conf, []byte(c.Settings), 0o600); err != nil {
		return nil, err
	}
	s := &Stack{temper: c.Temper, Dir: c.Dir, data: filepath.Join(c.Dir, "data")}
	s.dev, err = dev.Command{
		Path: c.Temper, Env: Environ(c.Env...), LogFile: s.DevLog(), ReadyFile: s.infoFile(), Within: readyWithin,
		Args: append([]string{"dev", "--data", s.data, "--listen", "127.0.0.1:0", "--config", conf}, c.Args...),
	}.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("start temper dev: %w", err)
	}
	return s, s.Read()
}

// Attach returns a stack that runs already, by its data folder. Stop and End must not be called.
func Attach(data string) (*Stack, error) {
	s := &Stack{Dir: filepath.Dir(data), data: data}
	return s, s.Read()
}

// MakeFolder makes a folder for a stack. If this is root, PostgreSQL runs as another user, who must be able to reach its data.
func MakeFolder() (string, error) {
	dir, err := os.MkdirTemp("", "temper-stack-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// Environ returns this process's environment without variables that would configure a stack, its clients or make, and with
// more variables.
func Environ(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "TEMPER_") || strings.HasPrefix(e, "OS_") || strings.HasPrefix(e, "MAKE")
	})
	return append(env, more...)
}

func (s *Stack) infoFile() string { return filepath.Join(s.data, devfile.InfoFile) }

// Info reads dev.json.
func (s *Stack) Info() (devfile.Info, error) { return devfile.ReadInfo(s.infoFile()) }

// Read reads dev.json again.
func (s *Stack) Read() error {
	i, err := s.Info()
	if err != nil {
		return err
	}
	s.APIURL, s.RackURL, s.DatabaseURL, s.TemporalUIURL = i.APIURL, i.RackURL, i.DatabaseURL, i.TemporalUIURL
	s.TemporalAddress, s.TemporalNamespace, s.TemporalReconcile = i.TemporalAddress, i.TemporalNamespace, i.TemporalReconcile
	s.Processes = processes(i)
	return nil
}

// Dev returns temper dev itself.
func (s *Stack) Dev() *dev.Running { return s.dev }

// Role starts one more process of temper that joins the stack; name is also that of its log. The caller must stop it.
func (s *Stack) Role(ctx context.Context, role, name string, env []string, args ...string) (*dev.Running, error) {
	return s.Begin(ctx, role, filepath.Join(s.data, devfile.SettingsFile), name, env, args...)
}

// Begin is Role with another file of settings.
func (s *Stack) Begin(ctx context.Context, role, settings, name string, env []string, args ...string) (*dev.Running, error) {
	ready := filepath.Join(s.Dir, name+".ready")
	return dev.Command{
		Path: s.temper, Env: Environ(env...), LogFile: s.Log(name), ReadyFile: ready,
		Args: append([]string{role, "--config", settings, "--ready-file", ready}, args...),
	}.Run(ctx)
}

// Command returns a command line of temper that asks the stack's API.
func (s *Stack) Command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, s.temper, args...)
	c.Env = Environ("TEMPER_API_URL=" + s.APIURL)
	return c
}

// Log returns the file of a process's log.
func (s *Stack) Log(name string) string { return filepath.Join(s.data, "logs", name+".log") }

// DevLog returns the file with the output of temper dev itself.
func (s *Stack) DevLog() string { return filepath.Join(s.Dir, "dev.log") }

// Stop ends the stack and removes its folder.
func (s *Stack) Stop() error { return errors.Join(s.End(), os.RemoveAll(s.Dir)) }

// End ends the stack and keeps its folder.
func (s *Stack) End() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return s.dev.Stop(ctx)
}
