package dev_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/dev/devfile"
	stacks "go.temper.dev/temper/test/stack"
)

const (
	startWithin = 90 * time.Second
	stopWithin  = 60 * time.Second
	seenWithin  = 30 * time.Second
	look        = 20 * time.Millisecond
)

// programs returns the folder with temper and temporal-dev.
var programs = sync.OnceValues(func() (string, error) { return stacks.Programs(context.Background(), "../..") })

// stack is a running `temper dev`.
type stack struct {
	t    *testing.T
	data string
	cmd  *exec.Cmd
	out  *safeBuffer
	done chan struct{}
}

// start runs temper dev in a folder and waits until it is ready.
func start(t *testing.T, data string, args ...string) *stack {
	t.Helper()
	bin, err := programs()
	require.NoError(t, err)
	return startProgram(t, filepath.Join(bin, "temper"), data, args...)
}

// startProgram is start with another temper.
func startProgram(t *testing.T, temper, data string, args ...string) *stack {
	t.Helper()
	s := &stack{t: t, data: data, out: &safeBuffer{}, done: make(chan struct{})}
	s.cmd = exec.Command(temper, append([]string{"dev", "--data", data}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	s.cmd.Env = environ()
	require.NoError(t, s.cmd.Start())
	go func() { defer close(s.done); _ = s.cmd.Wait() }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended already
		<-s.done
		if t.Failed() {
			t.Logf("temper dev said:\n%s", s.out)
		}
	})
	require.Eventually(t, func() bool {
		_, err := devfile.ReadInfo(s.infoFile())
		return err == nil || s.ended()
	}, startWithin, look)
	require.False(t, s.ended(), "temper dev has ended:\n%s", s.out)
	return s
}

// environ returns the environment without variables that would configure the stack.
func environ() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "TEMPER_") {
			env = append(env, e)
		}
	}
	return env
}

// folder makes a folder that PostgreSQL's user can reach, who is another one if root runs the tests.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "temper-stack-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("data and logs are in %s", dir)
			return
		}
		require.NoError(t, os.RemoveAll(dir))
	})
	return filepath.Join(dir, "data")
}

func (s *stack) infoFile() string { return filepath.Join(s.data, devfile.InfoFile) }

func (s *stack) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *stack) info() devfile.Info {
	s.t.Helper()
	i, err := devfile.ReadInfo(s.infoFile())
	require.NoError(s.t, err)
	return i
}

// processes returns the processes of dev.json by name.
func (s *stack) processes() map[string]devfile.Process {
	s.t.Helper()
	by := map[string]devfile.Process{}
	for _, p := range s.info().Processes {
		by[p.Name] = p
	}
	return by
}

func (s *stack) kill(name string) int {
	s.t.Helper()
	p, ok := s.processes()[name]
	require.True(s.t, ok, "%s does not run", name)
	require.NoError(s.t, syscall.Kill(p.Pid, syscall.SIGKILL))
	return p.Pid
}

// terminate ends the stack as Ctrl-C does, and returns its exit code.
func (s *stack) terminate() int {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.done:
	case <-time.After(stopWithin):
		require.Fail(s.t, "temper dev did not end")
	}
	return s.cmd.ProcessState.ExitCode()
}

// nodes returns the names of all nodes.
func (s *stack) nodes() ([]string, error) {
	var page struct {
		Nodes []struct {
			Name string `json:"name"`
		} `json:"nodes"`
	}
	err := dev.Call(s.t.Context(), http.MethodGet, s.info().APIURL+"/v1/nodes?sort_key=name", nil, &page)
	var names []string
	for _, n := range page.Nodes {
		names = append(names, n.Name)
	}
	return names, err
}

// conductors returns the conductors that are alive according to the API.
func (s *stack) conductors() []string {
	var page struct {
		Conductors []struct {
			Hostname string `json:"hostname"`
			Alive    bool   `json:"alive"`
		} `json:"conductors"`
	}
	if dev.Call(s.t.Context(), http.MethodGet, s.info().APIURL+"/v1/conductors", nil, &page) != nil {
		return nil
	}
	var names []string
	for _, c := range page.Conductors {
		if c.Alive {
			names = append(names, c.Hostname)
		}
	}
	return names
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func requireGone(t *testing.T, processes map[string]devfile.Process) {
	t.Helper()
	for name, p := range processes {
		require.Eventually(t, func() bool { return !alive(p.Pid) }, seenWithin, look, "%s (pid %d) lives on", name, p.Pid)
	}
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
