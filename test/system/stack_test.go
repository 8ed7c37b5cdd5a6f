package system_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/medium/mediumtest"
	stacks "go.temper.dev/temper/test/stack"
)

// settings make hardware fast and timeouts short, so that what takes half an hour in a data centre takes seconds here. The
// timeouts for agents are long enough for a machine that is busy with other tests.
const settings = `
deploy_callback_timeout: 30s
clean_callback_timeout: 30s
inspect_callback_timeout: 30s
power_timeout: 4s
boot_timeout: 3s
virtual_media_timeout: 10s
bmc_busy_timeout: 4s
soft_power_off_timeout: 5s
node_locked_wait: 15s
bmc_request_timeout: 2s
bmc_request_timeout_max: 2s
bmc_away_timeout: 0s
reconcile_interval: 3s
wait_for_conductor_groups: {hasty: 3s, never: 0, orphan-gone: 3s, orphan-forgotten: 3s}
rack_power_delay: 50ms
rack_boot_delay: 100ms
rack_step_delay: 20ms
`

const (
	stopWithin = 40 * time.Second // of a process
	// patience is how long to wait for what happens soon, on a machine that may be very busy.
	patience = 3 * time.Minute
	// slack is what a busy machine may add to a promised time: the promise shows in `make bench` and the crash matrix.
	slack = patience
	// look is how often to look for what stays once it is there, at most, and glimpse how often for what passes.
	look    = 250 * time.Millisecond
	glimpse = 100 * time.Millisecond
)

// stack is a running `temper dev` and its rack.
type stack struct {
	*stacks.Stack
	rack *rack

	calm    sync.Once
	actions []action // of an undisturbed deploy
}

// config is for a stack with so many servers in its rack.
func config(servers int, args ...string) (c stacks.Config, err error) {
	c = stacks.Config{Settings: settings, Args: append([]string{
		"--enroll=false", "--nodes", strconv.Itoa(servers), "--conductors", "2", "--drivers", "redfish", "--persona", mixed,
	}, args...)}
	if c.Temper, err = temper(); err != nil {
		return c, err
	}
	if c.Dir, err = folder(); err != nil {
		return c, err
	}
	ramdisk := filepath.Join(c.Dir, "ramdisk.iso")
	c.Args = append(c.Args, "--ramdisk", ramdisk)
	return c, mediumtest.Write(ramdisk, "")
}

func withRack(s *stacks.Stack) (*stack, error) {
	r, err := findRack(s.RackURL, "")
	return &stack{Stack: s, rack: r}, err
}

// shared is the stack that most tests share, each with servers of its own.
var shared struct {
	once  sync.Once
	stack *stack
	err   error
	keep  atomic.Bool // its data and logs, because a test failed
}

// servers is how many servers the shared rack has: more than the tests take.
const servers = 20 * 22

// world returns the shared stack, for tests that run beside others.
func world(t *testing.T) *stack {
	t.Helper()
	stacks.RequirePostgres(t)
	shared.once.Do(func() {
		c, err := config(servers)
		var s *stacks.Stack
		if err == nil {
			s, err = c.Start(context.Background())
		}
		if err == nil {
			shared.stack, err = withRack(s)
		}
		shared.err = err
	})
	require.NoError(t, shared.err)
	t.Cleanup(func() {
		if t.Failed() {
			shared.keep.Store(true)
		}
	})
	return shared.stack
}

func stopShared() error {
	s := shared.stack
	switch {
	case s == nil:
		return nil
	case shared.keep.Load():
		return errors.Join(s.End(), fmt.Errorf("data and logs are in %s", s.Dir))
	default:
		return s.Stop()
	}
}

// turns bounds how many tests have a stack of their own at a time.
var turns = make(chan struct{}, 3)

// own starts a stack for one test, which may kill its processes. With --restart they are started again.
func own(t *testing.T, servers int, args ...string) *stack {
	t.Helper()
	turns <- struct{}{}
	t.Cleanup(func() { <-turns })
	c, err := config(servers, args...)
	require.NoError(t, err)
	s, err := withRack(c.For(t))
	require.NoError(t, err)
	return s
}

// signal sends a signal to a process of the stack and tells its number.
func (s *stack) signal(t *testing.T, name string, sig syscall.Signal) int {
	t.Helper()
	pid := s.PID(name)
	require.NotZero(t, pid, "%s does not run", name)
	require.NoError(t, syscall.Kill(pid, sig))
	return pid
}

// kill ends a process as a power cut does and waits until another one has its place.
func (s *stack) kill(t *testing.T, name string) {
	t.Helper()
	before := s.signal(t, name, syscall.SIGKILL)
	s.awaitOther(t, name, before)
}

func (s *stack) awaitOther(t *testing.T, name string, before int) {
	t.Helper()
	require.Eventually(t, func() bool { now := s.PID(name); return now != 0 && now != before }, patience, look, "%s did not come back", name)
}

// awaitReady waits until requests are served in full.
func (s *stack) awaitReady(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		a, err := s.ask(http.MethodGet, "/temper/v1/readyz", nil)
		return err == nil && a.Status == http.StatusOK
	}, patience, look, "the API is not ready")
}

// eventually waits until cond returns nil, and fails with its last error. The longer it has waited, the less often it looks.
func eventually(t *testing.T, within time.Duration, cond func() error) {
	t.Helper()
	wait(t, within, time.Second, cond)
}

// catches is eventually for what may pass.
func catches(t *testing.T, within time.Duration, cond func() error) {
	t.Helper()
	wait(t, within, glimpse, cond)
}

// wait looks every tenth of the time that it has waited, but at least every longest.
func wait(t *testing.T, within, longest time.Duration, cond func() error) {
	t.Helper()
	for began := time.Now(); ; {
		err := cond()
		waited := time.Since(began)
		if waited > within {
			t.Fatalf("after %s: %v", within, err)
		}
		if err == nil {
			return
		}
		<-time.After(min(max(waited/10, look), longest))
	}
}

// conductor starts one more by hand, for a group of its own and with more settings from the environment. It is not started
// again.
func (s *stack) conductor(t *testing.T, group, name string, env ...string) *dev.Running {
	t.Helper()
	return s.conductorWith(t, "redfish", group, name, env...)
}

// conductorWith does the same with other drivers.
func (s *stack) conductorWith(t *testing.T, drivers, group, name string, env ...string) *dev.Running {
	t.Helper()
	return s.role(t, "conductor", name, env, "--name", name, "--conductor-group", group, "--enabled-drivers", drivers)
}

// role starts one more process of a role by hand, with more settings.
func (s *stack) role(t *testing.T, role, name string, env []string, args ...string) *dev.Running {
	t.Helper()
	p, err := s.Role(t.Context(), role, name, env, append(args, "--metrics-listen", "127.0.0.1:0")...)
	require.NoError(t, err)
	endsWith(t, p)
	return p
}

// endsWith stops a process at the end of the test.
func endsWith(t *testing.T, p *dev.Running) {
	t.Helper()
	t.Cleanup(func() {
		_ = syscall.Kill(-p.Pid(), syscall.SIGCONT) // a frozen process does not react to signals
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		_ = p.Stop(ctx) // it may have ended already
	})
}
