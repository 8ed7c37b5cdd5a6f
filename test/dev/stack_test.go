package dev_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev/devfile"
)

func TestEveryChildMayBeKilledAndTheRestGoesOn(t *testing.T) {
	s := start(t, folder(t), "--nodes", "4", "--conductors", "2", "--drivers", "redfish,fake-hardware")
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
		require.Eventually(t, func() bool { return strings.Contains(s.out.String(), name+" (pid") }, seenWithin, look, "nothing is said of the death of %s", name)
		require.False(t, alive(pid))
		for other, p := range s.processes() {
			require.True(t, alive(p.Pid), "%s did not survive the death of %s", other, name)
		}
	}
	require.Contains(t, s.processes(), "conductor-2")
	require.Zero(t, s.terminate(), "what has died before is no failure of the stop")
	requireGone(t, all)
	_, err = devfile.ReadInfo(s.infoFile())
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
	data := folder(t)
	s := start(t, data, "--nodes", "2", "--conductors", "1", "--restart")
	at := s.info()
	for _, name := range []string{"postgres", "temporal", "api", "rack", "orchestrator", "conductor-1"} {
		before := s.kill(name)
		require.Eventually(t, func() bool {
			p, ok := s.processes()[name]
			return ok && p.Pid != before
		}, startWithin, look, "%s did not come back", name)
	}
	back := s.info()
	back.Processes, at.Processes = nil, nil
	require.Equal(t, at, back, "all addresses stay")
	require.Eventually(t, func() bool {
		names, err := s.nodes()
		return err == nil && len(names) == 2 && len(s.conductors()) == 1
	}, seenWithin, look)

	hand := byHand(t, data, "conductor", "--data", data, "--name", "conductor-by-hand")
	require.Eventually(t, func() bool { return len(s.conductors()) == 2 }, seenWithin, look, "who is started by hand joins")
	require.NoError(t, hand.Process.Signal(syscall.SIGTERM))
	require.NoError(t, hand.Wait())
	require.Equal(t, []string{"conductor-1"}, s.conductors(), "who leaves says so")

	all := s.processes()
	require.Zero(t, s.terminate())
	requireGone(t, all)

	s = start(t, data, "--nodes", "2", "--conductors", "1")
	again := s.info()
	again.Processes = nil
	require.Equal(t, at, again, "started again it is where it was")
	names, err := s.nodes()
	require.NoError(t, err)
	require.Equal(t, []string{"sim-0001", "sim-0002"}, names, "and goes on with its data")

	all = s.processes()
	require.NoError(t, s.cmd.Process.Kill())
	requireGone(t, all)
}

// byHand starts a role as an operator would.
func byHand(t *testing.T, data string, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := programs()
	require.NoError(t, err)
	log, err := os.Create(filepath.Join(data, "logs", "by-hand.log"))
	require.NoError(t, err)
	defer log.Close()
	cmd := exec.Command(filepath.Join(bin, "temper"), args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, environ()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	return cmd
}
