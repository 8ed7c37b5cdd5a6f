package dev_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/dev/devfile"
	"go.temper.dev/temper/test/stack"
)

const (
	startWithin = 90 * time.Second
	seenWithin  = 30 * time.Second
	look        = 20 * time.Millisecond
)

// world is a running `temper dev`.
type world struct {
	*stack.Stack
	t *testing.T
}

// start runs temper dev in a folder and waits until it is ready.
func start(t *testing.T, dir string, args ...string) *world {
	t.Helper()
	return &world{Stack: stack.Config{Dir: dir, Args: args}.For(t), t: t}
}

func (w *world) info() devfile.Info {
	w.t.Helper()
	i, err := w.Info()
	require.NoError(w.t, err)
	return i
}

// processes returns the processes of dev.json by name.
func (w *world) processes() map[string]stack.Process {
	w.t.Helper()
	by, err := w.Running()
	require.NoError(w.t, err)
	return by
}

func (w *world) kill(name string) int {
	w.t.Helper()
	pid, err := w.Signal(name, syscall.SIGKILL)
	require.NoError(w.t, err)
	return pid
}

// terminate ends the stack as Ctrl-C does. Its exit code must be 0.
func (w *world) terminate(why string) {
	w.t.Helper()
	require.NoError(w.t, w.End())
	require.Equal(w.t, "ended with exit code 0", w.Dev().End(), why)
}

// said returns what temper dev has written so far.
func (w *world) said() string {
	w.t.Helper()
	text, err := os.ReadFile(w.DevLog())
	require.NoError(w.t, err)
	return string(text)
}

// nodes returns the names of all nodes.
func (w *world) nodes() ([]string, error) {
	all, err := w.Nodes(w.t.Context())
	var names []string
	for _, n := range all {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names, err
}

// conductors returns the conductors that are alive according to the API; none = it does not answer.
func (w *world) conductors() []string {
	names, _ := w.Alive(w.t.Context())
	return names
}

func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func requireGone(t *testing.T, processes map[string]stack.Process) {
	t.Helper()
	for name, p := range processes {
		require.Eventually(t, func() bool { return !alive(p.PID) }, seenWithin, look, "%s (pid %d) lives on", name, p.PID)
	}
}

func TestEveryChildMayBeKilledAndTheRestGoesOn(t *testing.T) {
	s := start(t, stack.Folder(t), "--nodes", "4", "--conductors", "2", "--drivers", "redfish,fake-hardware")
	at := s.info()
	requireAnswers(t, at)
	all := s.processes()
	names, err := s.nodes()
	require.NoError(t, err)
	require.Equal(t, []string{"fake-0001", "fake-0002", "sim-0001", "sim-0002"}, names)
	require.ElementsMatch(t, []string{"conductor-1", "conductor-2"}, s.conductors())

	left := len(all)
	for _, name := range []string{"conductor-1", "orchestrator", "rack", "temporal", "postgres", "api"} {
		pid := s.kill(name)
		left--
		require.Eventually(t, func() bool { return len(s.processes()) == left }, seenWithin, look, "%s is dead and still shown", name)
		require.NotContains(t, s.processes(), name)
		require.Eventually(t, func() bool { return strings.Contains(s.said(), name+" (pid") }, seenWithin, look, "nothing is said of the death of %s", name)
		require.False(t, alive(pid))
		for other, p := range s.processes() {
			require.True(t, alive(p.PID), "%s did not survive the death of %s", other, name)
		}
	}
	require.Contains(t, s.processes(), "conductor-2")
	s.terminate("what has died before is no failure of the stop")
	requireGone(t, all)
	_, err = s.Info()
	require.ErrorIs(t, err, os.ErrNotExist, "nothing is where it says any more")
}

// requireAnswers sends a request to each address in dev.json.
func requireAnswers(t *testing.T, at devfile.Info) {
	t.Helper()
	urls := []string{at.APIURL + "/temper/v1/readyz", at.TemporalUIURL, at.RackURL + "/servers"}
	roles := map[string]int{}
	for _, p := range at.Processes {
		require.True(t, alive(p.Pid), p.Name)
		roles[p.Role]++
		if p.MetricsURL != nil {
			urls = append(urls, *p.MetricsURL)
		}
	}
	require.Equal(t, map[string]int{"postgres": 1, "temporal": 1, "api": 1, "orchestrator": 1, "conductor": 2, "rack": 1}, roles)
	require.Equal(t, "temper", at.TemporalNamespace)
	require.NotEmpty(t, at.TemporalAddress)
	require.NotEmpty(t, at.DatabaseURL)
	require.Len(t, urls, 3+5, "every role of ours has metrics")
	for _, url := range urls {
		res, err := http.Get(url)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode, url)
	}
}

func TestWhatIsKilledComesBackWhereItWas(t *testing.T) {
	dir := stack.Folder(t)
	s := start(t, dir, "--nodes", "2", "--conductors", "1", "--restart")
	at := s.info()
	for _, name := range []string{"postgres", "temporal", "api", "rack", "orchestrator", "conductor-1"} {
		before := s.kill(name)
		require.Eventually(t, func() bool {
			p, ok := s.processes()[name]
			return ok && p.PID != before
		}, startWithin, look, "%s did not come back", name)
	}
	back := s.info()
	back.Processes, at.Processes = nil, nil
	require.Equal(t, at, back, "all addresses stay")
	require.Eventually(t, func() bool {
		names, err := s.nodes()
		return err == nil && len(names) == 2 && len(s.conductors()) == 1
	}, seenWithin, look)

	temper, err := stack.Temper(t.Context(), stack.Root)
	require.NoError(t, err)
	hand, err := dev.Command{ // as an operator would
		Path: temper, Args: []string{"conductor", "--data", filepath.Join(dir, "data"), "--name", "conductor-by-hand"},
		Env: stack.Environ(), LogFile: s.Log("by-hand"),
	}.Run(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.conductors()) == 2 }, seenWithin, look, "who is started by hand joins")
	require.NoError(t, hand.Stop(t.Context()))
	require.Equal(t, "ended with exit code 0", hand.End())
	require.Equal(t, []string{"conductor-1"}, s.conductors(), "who leaves says so")

	all := s.processes()
	s.terminate("all of it lives")
	requireGone(t, all)

	s = start(t, dir, "--nodes", "2", "--conductors", "1")
	again := s.info()
	again.Processes = nil
	require.Equal(t, at, again, "started again it is where it was")
	names, err := s.nodes()
	require.NoError(t, err)
	require.Equal(t, []string{"sim-0001", "sim-0002"}, names, "and goes on with its data")

	all = s.processes()
	require.NoError(t, syscall.Kill(s.Dev().Pid(), syscall.SIGKILL))
	requireGone(t, all)
}
