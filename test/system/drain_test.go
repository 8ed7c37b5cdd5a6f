package system_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The last conductor that covers a node is drained only by force. Then nobody covers its nodes, which say why. The drained
// conductor never counts as dead, neither while it runs nor while it stops.
func TestTheLastOfADriverIsDrainedByForceOnly(t *testing.T) {
	t.Parallel()
	s := world(t)
	only := s.conductor(t, "ebb", "ebb-1")
	idle, busy := in(t, s, "ebb"), in(t, s, "ebb")
	gate := make(chan struct{})
	l := newLibrary(t, gate)
	busy.image(l.url+"/slow.raw", l.sha256)
	id := busy.provision("active", nil)
	busy.writing(l)
	require.NoError(t, s.offers("ebb", idle))

	code, said := s.run(t, "conductor", "drain", "ebb-1")
	require.NotZero(t, code, said)
	require.Contains(t, said, "the last one that covers 2 nodes: ")
	for _, n := range []*node{idle, busy} {
		require.Contains(t, said, n.now().Name)
	}
	require.NoError(t, s.offers("ebb", idle), "nothing has happened")

	began := time.Now()
	code, said = s.run(t, "conductor", "drain", "ebb-1", "--force")
	require.Zero(t, code, said)
	require.NoError(t, s.offers("ebb"), "at once")
	now := idle.now()
	require.True(t, now.Maintenance)
	require.Equal(t, "no conductor", text(now.Fault))
	require.Contains(t, text(now.MaintenanceReason), ": ebb-1 is draining.")
	require.Contains(t, idle.refused(http.StatusNotFound, "active", nil), "No valid host was found.")
	eventually(t, patience, func() error { return idle.told("quarantined: No conductor service") })
	o, err := busy.operation(id)
	require.NoError(t, err)
	require.NotEqual(t, "ended", o.State, "%s", o)
	eventually(t, patience, func() error { return busy.blocked(id, waitsFor("ebb")) }) // it learns of that with its next heartbeat
	close(gate)
	o, err = busy.operation(id)
	require.NoError(t, err)
	st, ok := o.step("prepare_instance_boot")
	require.True(t, ok)
	require.Equal(t, "pending", st.State, "no new steps: %s", o)
	catches(t, patience, func() error { // it stays alive for longer than the timeout
		states, err := s.states("ebb")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"ebb-1": "draining"}, states)
		if time.Since(began) < timeout+5*time.Second {
			err = fmt.Errorf("not long enough")
		}
		return err
	})

	// The drain is taken back, and once more.
	code, said = s.run(t, "conductor", "undrain", "ebb-1")
	require.Zero(t, code, said)
	require.NoError(t, s.offers("ebb", idle), "at once")
	busy.deployed(id, l.sha256)
	require.Equal(t, []string{"write_image"}, busy.hardware().steps(), "asked, not repeated")
	code, said = s.run(t, "conductor", "drain", "ebb-1", "--force")
	require.Zero(t, code, said)

	// It is stopped: its state is draining and then stopped, and nothing else in between.
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { ended <- only.Stop(ctx) }()
	s.leaves(t, "ebb", "ebb-1")
	require.NoError(t, <-ended)

	// The same for a conductor that was working.
	second := s.conductor(t, "ebb", "ebb-2")
	require.NoError(t, s.offers("ebb", idle))
	go func() { ended <- second.Stop(ctx) }()
	s.leaves(t, "ebb", "ebb-2")
	require.NoError(t, <-ended)
	require.NoError(t, s.offers("ebb"), "at once")
	log, err := os.ReadFile(s.Log("orchestrator"))
	require.NoError(t, err)
	require.NotRegexp(t, `"a conductor left the ring".*"conductor":"ebb-\d","why":"dead`, string(log))
}

// leaves watches a conductor until it has stopped: meanwhile it never counts as dead, and afterwards it covers nothing.
func (s *stack) leaves(t *testing.T, group, name string) {
	t.Helper()
	seen := map[string]int{}
	catches(t, patience, func() error {
		states, err := s.states(group)
		require.NoError(t, err)
		state := states[name]
		seen[state]++
		require.Contains(t, []string{"alive", "draining", "stopped"}, state)
		if state != "stopped" {
			require.False(t, state == "alive" && seen["draining"] > 0, "it came back")
			return fmt.Errorf("%s is %s", name, state)
		}
		return nil
	})
	require.NoError(t, s.offers(group))
	t.Logf("%s was seen %v", name, seen)
}
