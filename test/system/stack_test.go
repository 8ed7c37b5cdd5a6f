package system_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/dev/devfile"
	"go.temper.dev/temper/internal/pgserver"
)

// settings make hardware fast and timeouts short, so that what takes half an hour in a data centre takes seconds here. The
// timeouts for agents are long enough for a machine that is busy with other tests.
const settings = `
deploy_callback_timeout: 30s
clean_callback_timeout: 30s
inspect_callback_timeout: 30s
power_timeout: 4s
boot_progress_timeout: 3s
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
	startWithin = 3 * time.Minute
	stopWithin  = 40 * time.Second
	// patience is how long to wait for what happens soon, on a machine that may be very busy.
	patience = 90 * time.Second
	// slack is what a busy machine may add to a promised time: the promise shows in `make bench` and the crash matrix.
	slack = 20 * time.Second
	look  = 100 * time.Millisecond
)

// stack is a running `temper dev`.
type stack struct {
	*dev.Running
	dir  string // of data and logs
	at   devfile.Info
	rack *rack

	calm    sync.Once
	actions []action // of an undisturbed deploy
}

// startStack starts temper dev with that many servers in its rack.
func startStack(servers int, args ...string) (*stack, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := folder()
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL is another user where root runs the tests
		return nil, err
	}
	conf := filepath.Join(dir, "settings.yaml")
	if err := os.WriteFile(conf, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	s := &stack{dir: dir}
	s.Running, err = dev.Command{
		Path: filepath.Join(bin, "temper"), Env: environ(), LogFile: filepath.Join(dir, "dev.log"),
		ReadyFile: s.infoFile(), Within: startWithin,
		Args: append([]string{
			"dev", "--data", filepath.Join(dir, "data"), "--config", conf, "--listen", "127.0.0.1:0", "--enroll=false",
			"--nodes", strconv.Itoa(servers), "--conductors", "2", "--drivers", "redfish", "--persona", mixed,
		}, args...),
	}.Run(context.Background())
	if err != nil {
		return nil, fmt.Errorf("start temper dev: %w", err)
	}
	if s.at, err = devfile.ReadInfo(s.infoFile()); err == nil {
		s.rack, err = findRack(s.at.RackURL, "")
	}
	if err != nil {
		return nil, errors.Join(err, s.stop(false))
	}
	return s, nil
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

func (s *stack) infoFile() string { return filepath.Join(s.dir, "data", devfile.InfoFile) }

// stop ends the stack. If keep is set, its data and logs stay.
func (s *stack) stop(keep bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	err := s.Stop(ctx)
	if keep {
		return errors.Join(err, fmt.Errorf("data and logs are in %s", s.dir))
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// common is the stack that most tests share, each with servers of its own.
type common struct {
	once   sync.Once
	stack  *stack
	err    error
	failed sync.Once
	keep   bool
}

var shared common

// servers is how many servers the shared rack has: more than the tests take.
const servers = 20 * 22

// world returns the shared stack, for tests that run beside others.
func world(t *testing.T) *stack {
	t.Helper()
	requirePostgres(t)
	shared.once.Do(func() { shared.stack, shared.err = startStack(servers) })
	require.NoError(t, shared.err)
	t.Cleanup(func() {
		if t.Failed() {
			shared.failed.Do(func() { shared.keep = true })
		}
	})
	return shared.stack
}

func (c *common) stop() error {
	if c.stack == nil {
		return nil
	}
	return c.stack.stop(c.keep)
}

// requirePostgres skips the test if PostgreSQL is missing, as other tests do.
func requirePostgres(t *testing.T) {
	t.Helper()
	_, err := pgserver.Find()
	if errors.Is(err, pgserver.ErrNotFound) && os.Getenv("TEMPER_TEST_REQUIRE") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
}

// turns bounds how many tests have a stack of their own at a time.
var turns = make(chan struct{}, 3)

// own starts a stack for one test, which may kill its processes. With --restart they are started again.
func own(t *testing.T, servers int, args ...string) *stack {
	t.Helper()
	requirePostgres(t)
	turns <- struct{}{}
	t.Cleanup(func() { <-turns })
	s, err := startStack(servers, args...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.stop(t.Failed()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pid returns the present pid of a process by its name in dev.json; 0 = it does not run.
func (s *stack) pid(name string) int {
	info, err := devfile.ReadInfo(s.infoFile())
	if err != nil {
		return 0
	}
	for _, p := range info.Processes {
		if p.Name == name {
			return p.Pid
		}
	}
	return 0
}

// signal sends a signal to a process of the stack and tells its number.
func (s *stack) signal(t *testing.T, name string, sig syscall.Signal) int {
	t.Helper()
	pid := s.pid(name)
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
	require.Eventually(t, func() bool { now := s.pid(name); return now != 0 && now != before }, patience, look, "%s did not come back", name)
}

// awaitReady waits until requests are served in full.
func (s *stack) awaitReady(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		a, err := s.ask(http.MethodGet, "/temper/v1/readyz", nil)
		return err == nil && a.status == http.StatusOK
	}, patience, look, "the API is not ready")
}

// eventually waits until cond returns nil, and fails with its last error.
func eventually(t *testing.T, within time.Duration, cond func() error) {
	t.Helper()
	var mu sync.Mutex
	var last error
	ok := assert.Eventually(discard{}, func() bool {
		err := cond()
		mu.Lock()
		defer mu.Unlock()
		last = err
		return err == nil
	}, within, look)
	if !ok {
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("after %s: %v", within, last)
	}
}

// discard swallows testify's own message, which does not say what was waited for.
type discard struct{}

func (discard) Errorf(string, ...any) {}
