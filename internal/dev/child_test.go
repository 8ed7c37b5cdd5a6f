package dev

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev/devfile"
)

// The test binary is its own children: TEST_CHILD says what it does instead of testing.
func TestMain(m *testing.M) {
	switch what, arg, _ := strings.Cut(os.Getenv("TEST_CHILD"), " "); what {
	case "":
		os.Exit(m.Run())
	case "serve", "slow": // ready, until it is asked to stop; then it writes its name down, if slow after a while
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		must(devfile.WriteReady(os.Args[1], devfile.Ready{URL: "http://" + arg, MetricsURL: "http://" + arg + "/metrics"}))
		<-asked
		if what == "slow" {
			<-time.After(200 * time.Millisecond)
		}
		f, err := os.OpenFile(filepath.Join(filepath.Dir(os.Args[1]), "stopped"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		must(err)
		fmt.Fprintln(f, arg)
	case "deaf": // ready, and never stops by itself
		signal.Ignore(syscall.SIGTERM)
		must(devfile.WriteReady(os.Args[1], devfile.Ready{}))
		select {}
	case "listen": // ready once it listens
		l, err := net.Listen("tcp", arg)
		if err != nil {
			fmt.Fprintln(os.Stderr, "temper: api: listen:", err)
			fmt.Fprint(os.Stderr, stack)
			os.Exit(1)
		}
		must(devfile.WriteReady(os.Args[1], devfile.Ready{URL: "http://" + l.Addr().String()}))
		select {}
	case "break": // never ready
		fmt.Fprintln(os.Stderr, "the disk is full")
		os.Exit(3)
	case "supervise": // a supervisor of one child; writes its pid down and waits to be killed
		c, err := child(arg, "grandchild", "serve").Run(context.Background())
		must(err)
		must(devfile.Write(os.Args[1], 0o600, fmt.Append(nil, c.Pid())))
		select {}
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
}

// child is this binary as a child in dir.
func child(dir, name, what string) Command {
	self, err := os.Executable()
	must(err)
	ready := filepath.Join(dir, name+".ready")
	return Command{
		Path: self, Args: []string{ready}, Env: append(os.Environ(), "TEST_CHILD="+what+" "+name),
		LogFile: filepath.Join(dir, name+".log"), ReadyFile: ready,
	}
}

// withArg gives what the child does another argument than its name.
func (c Command) withArg(arg string) Command {
	last := len(c.Env) - 1
	what, _, _ := strings.Cut(c.Env[last], " ")
	c.Env[last] = what + " " + arg
	return c
}

// alive says whether a process is there and no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return !alive(pid) }, 30*time.Second, 10*time.Millisecond, "process %d lives on", pid)
}

func TestAChildThatDoesNotComeUpSaysWhy(t *testing.T) {
	_, err := child(t.TempDir(), "c", "break").Run(t.Context())
	require.ErrorContains(t, err, "ended with exit code 3 before it was ready")
	require.ErrorContains(t, err, "the disk is full")
}

func TestAReadyFileOfTheLastRunDoesNotCount(t *testing.T) {
	c := child(t.TempDir(), "c", "break")
	require.NoError(t, devfile.WriteReady(c.ReadyFile, devfile.Ready{URL: "http://old"}))
	_, err := c.Run(t.Context())
	require.Error(t, err)
}

func TestAChildThatDoesNotStopIsKilled(t *testing.T) {
	p, err := child(t.TempDir(), "c", "deaf").Run(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, p.Stop(ctx), "was killed")
	requireGone(t, p.Pid())
	require.Equal(t, "was killed by signal killed", p.End())
	require.NoError(t, p.Stop(ctx), "to stop what has ended is no error")
}

func TestAStartThatIsGivenUpLeavesNothing(t *testing.T) {
	c := child(t.TempDir(), "c", "serve")
	c.ReadyFile += ".never"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Run(ctx)
	require.ErrorContains(t, err, "not ready in time")
}
