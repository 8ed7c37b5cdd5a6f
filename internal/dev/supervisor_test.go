package dev

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev/devfile"
)

// crew is a supervisor of test children, and what it told.
type crew struct {
	*Supervisor
	t   *testing.T
	dir string

	mu    sync.Mutex
	lines []string
	now   []devfile.Process
}

func newCrew(t *testing.T, restart bool) *crew {
	c := &crew{t: t, dir: t.TempDir()}
	c.Supervisor = NewSupervisor(restart, func(format string, args ...any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lines = append(c.lines, fmt.Sprintf(format, args...))
	}, func(now []devfile.Process) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now = now
	})
	t.Cleanup(c.Stop)
	return c
}

func (c *crew) spec(name string, stage int, what string) Spec {
	return Spec{Role: "test", Name: name, Stage: stage, Grace: 10 * time.Second, Start: func(ctx context.Context) (Child, error) {
		p, err := child(c.dir, name, what).Run(ctx)
		if err != nil {
			return nil, err
		}
		return p, nil
	}}
}

func (c *crew) processes() []devfile.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *crew) pid(name string) int {
	for _, p := range c.processes() {
		if p.Name == name {
			return p.Pid
		}
	}
	return 0
}

func (c *crew) said(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(strings.Join(c.lines, "\n"), text)
}

func (c *crew) kill(name string) {
	require.NoError(c.t, syscall.Kill(c.pid(name), syscall.SIGKILL))
}

func TestOneIsKilledTheOthersGoOn(t *testing.T) {
	c := newCrew(t, false)
	mortal := c.spec("b", 1, "serve")
	mortal.RestartHint = func() string { return "temper b" }
	require.NoError(t, c.Start(t.Context(), c.spec("a", 0, "serve"), mortal, c.spec("c", 1, "serve")))
	require.Equal(t, "http://a/metrics", *c.processes()[0].MetricsURL)
	a, b := c.pid("a"), c.pid("b")
	c.kill("b")
	require.Eventually(t, func() bool { return c.said("b (pid") }, 30*time.Second, 10*time.Millisecond)
	require.True(t, c.said("was killed by signal killed; it stays dead, the others go on. To bring it back: temper b"))
	require.Zero(t, c.pid("b"), "who is dead is not on the list")
	require.Len(t, c.processes(), 2)
	requireGone(t, b)
	require.True(t, alive(a))
	c.Stop()
	require.Empty(t, c.processes())
	requireGone(t, a)
}

func TestOneIsStartedAgain(t *testing.T) {
	c := newCrew(t, true)
	require.NoError(t, c.Start(t.Context(), c.spec("a", 0, "serve"), c.spec("b", 1, "serve")))
	a := c.pid("a")
	for range 2 {
		b := c.pid("b")
		c.kill("b")
		require.Eventually(t, func() bool { return c.pid("b") != 0 && c.pid("b") != b }, 30*time.Second, 10*time.Millisecond)
	}
	require.Equal(t, a, c.pid("a"))
	b := c.pid("b")
	c.Stop()
	requireGone(t, a)
	requireGone(t, b)
}

func TestWhatCanNotBeStartedAgainIsTriedUntilTheStop(t *testing.T) {
	c := newCrew(t, true)
	spec, tries := c.spec("a", 0, "serve"), make(chan struct{}, 100)
	first := spec.Start
	var started bool
	spec.Start = func(ctx context.Context) (Child, error) {
		if !started {
			started = true
			return first(ctx)
		}
		tries <- struct{}{}
		return nil, fmt.Errorf("no more memory")
	}
	require.NoError(t, c.Start(t.Context(), spec))
	c.kill("a")
	<-tries
	<-tries
	require.True(t, c.said("a does not start"))
	require.True(t, c.said("no more memory"))
	c.Stop()
}

func TestTheLastStageStopsFirst(t *testing.T) {
	c := newCrew(t, false)
	require.NoError(t, c.Start(t.Context(), c.spec("storage", 0, "serve")))
	require.NoError(t, c.Start(t.Context(), c.spec("worker", 2, "slow"), c.spec("api", 1, "slow")))
	c.Stop()
	body, err := os.ReadFile(filepath.Join(c.dir, "stopped"))
	require.NoError(t, err)
	require.Equal(t, "worker\napi\nstorage\n", string(body))
}

func TestAStopSaysWhomItWaitsForAndUntilWhen(t *testing.T) {
	c := newCrew(t, false)
	deaf := c.spec("deaf", 1, "deaf")
	deaf.Grace = time.Minute
	require.NoError(t, c.Start(t.Context(), deaf))
	pid, stopped := c.pid("deaf"), make(chan struct{})
	go func() {
		c.Stop()
		close(stopped)
	}()
	words := fmt.Sprintf("waiting for deaf (pid %d, killed at ", pid)
	require.Eventually(t, func() bool { return c.said(words) }, 30*time.Second, 10*time.Millisecond)
	c.kill("deaf")
	<-stopped
}

func TestWhatStartedBesideAFailureIsStopped(t *testing.T) {
	c := newCrew(t, false)
	require.NoError(t, c.Start(t.Context(), c.spec("a", 0, "serve")))
	err := c.Start(t.Context(), c.spec("b", 1, "break"))
	require.ErrorContains(t, err, "start b: it ended with exit code 3")
	a := c.pid("a")
	c.Stop()
	requireGone(t, a)
}

func TestNothingStartsOnceTheStopHasBegun(t *testing.T) {
	c := newCrew(t, true)
	c.Stop()
	require.Error(t, c.Start(t.Context(), c.spec("a", 0, "serve")))
	require.Empty(t, c.processes())
	p, err := os.ReadFile(filepath.Join(c.dir, "stopped"))
	require.NoError(t, err)
	require.Equal(t, "a\n", string(p), "it was stopped in order")
}
