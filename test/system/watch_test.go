package system_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// watching is a `temper operation watch` that runs.
type watching struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	said bytes.Buffer // both streams
	err  chan error
}

func (w *watching) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.Write(p)
}

func (w *watching) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.String()
}

// says waits until it has written words so often.
func (w *watching) says(t *testing.T, times int, words string) {
	t.Helper()
	eventually(t, patience, func() error {
		if n := strings.Count(w.text(), words); n < times {
			return fmt.Errorf("%q came %d times of %d:\n%s", words, n, times, w.text())
		}
		return nil
	})
}

// ends waits for the end of the command and returns its exit code.
func (w *watching) ends(t *testing.T) int {
	t.Helper()
	var code *exec.ExitError
	if err := <-w.err; errors.As(err, &code) {
		return code.ExitCode()
	} else {
		require.NoError(t, err)
	}
	return 0
}

// watch begins to follow an operation.
func (s *stack) watch(t *testing.T, id string, args ...string) *watching {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience*2)
	t.Cleanup(cancel)
	w := &watching{err: make(chan error, 1)}
	w.cmd = s.Command(ctx, append([]string{"operation", "watch", id}, args...)...)
	w.cmd.Stdout, w.cmd.Stderr = w, w
	require.NoError(t, w.cmd.Start())
	go func() { w.err <- w.cmd.Wait() }()
	return w
}

// A watch outlives the API's process and a database that is frozen. It says when it sees nothing, and ends as the operation does.
func TestAWatchGoesOnAfterOutages(t *testing.T) {
	t.Parallel()
	s := own(t, 2, "--restart")
	n := in(t, s, "")
	gate := make(chan struct{})
	l := newLibrary(t, gate)
	n.image(l.url+"/slow.raw", l.sha256)
	id := n.provision("active", nil)
	n.writing(l)
	w := s.watch(t, id, "--every", "100ms")
	w.says(t, 1, "deploy "+id+" running")

	eventually(t, patience, func() error { // until it was away at the moment of a look
		s.kill(t, "api")
		if !strings.Contains(w.text(), "lost sight of operation "+id) {
			return errors.New(w.text())
		}
		return nil
	})
	s.awaitReady(t)
	w.says(t, 1, "in sight again")

	lost, regained := strings.Count(w.text(), "lost sight"), strings.Count(w.text(), "in sight again")
	thaw := s.stops(t, "postgres")
	w.says(t, lost+1, "lost sight of operation "+id)
	short := s.watch(t, id, "--timeout", "1s")
	require.Equal(t, 4, short.ends(t), "%s", short.text())
	require.Regexp(t, `temper operation .*watch `+id+` takes up again`, short.text())
	gone := s.watch(t, id)
	gone.says(t, 1, "lost sight of operation "+id)
	require.NoError(t, gone.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, gone.ends(t), "%s", gone.text())
	require.Regexp(t, `temper operation .*watch `+id+` takes up again`, gone.text())
	thaw()
	w.says(t, regained+1, "in sight again")

	late := s.watch(t, id, "--timeout", "1s")
	require.Equal(t, 124, late.ends(t), "%s", late.text())
	close(gate)
	require.Equal(t, 0, w.ends(t), "%s", w.text())
	require.Contains(t, w.text(), "deploy "+id+" succeeded")
}
