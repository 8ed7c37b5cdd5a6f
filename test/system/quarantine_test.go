package system_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
)

// timeout is the default of conductor_heartbeat_timeout.
const timeout = 15 * time.Second

// offer is a node as it is offered to schedulers.
type offer struct {
	UUID     string   `json:"uuid"`
	Requires []string `json:"requires"`
}

// offered returns the nodes of a group that are offered to schedulers now.
func (s *stack) offered(group string) (map[string]offer, error) {
	var list struct{ Nodes []offer }
	out := map[string]offer{}
	err := s.read("/temper/v1/nodes/available?conductor_group="+group, &list)
	for _, n := range list.Nodes {
		out[n.UUID] = n
	}
	return out, err
}

// offers checks that exactly these nodes are offered.
func (s *stack) offers(group string, nodes ...*node) error {
	have, err := s.offered(group)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if _, ok := have[n.uuid]; !ok {
			now := n.now()
			return fmt.Errorf("node %s is not offered: %s, %s, fault %s, %s, held by %s", n.uuid, now.State, text(now.Power), text(now.Fault),
				text(now.MaintenanceReason), text(now.Reservation))
		}
	}
	if len(have) != len(nodes) {
		return fmt.Errorf("%d nodes are offered, not %d", len(have), len(nodes))
	}
	return nil
}

// A node that no conductor can serve is not offered, even if neither a conductor nor an orchestrator runs that could notice.
func TestWhatNobodyCanServeIsNotOffered(t *testing.T) {
	t.Parallel()
	s := own(t, 3) // killed processes are not restarted
	begin := func(name string) *dev.Running {
		return s.conductor(t, "own", name, "TEMPER_SYNC_POWER_STATE_INTERVAL=1s")
	}
	a, b := available(t, s, s.rack), available(t, s, s.rack)
	one := begin("own-1")
	for _, n := range []*node{a, b} {
		n.patch("conductor_group", "own")
	}
	require.NoError(t, s.offers("own", a, b))
	require.False(t, a.now().Maintenance)

	// A node in maintenance is offered to requests that ask for the trait.
	s.must(t, http.StatusAccepted, http.MethodPut, "/v1/nodes/"+b.uuid+"/maintenance", map[string]any{"reason": "fan"})
	have, err := s.offered("own")
	require.NoError(t, err)
	require.Equal(t, []string{"CUSTOM_MAINTENANCE"}, have[b.uuid].Requires)
	require.Empty(t, have[a.uuid].Requires)

	powersAreKnown(t, a)

	// A stop takes effect at once.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, one.Stop(ctx))
	require.NoError(t, s.offers("own"), "it said that it leaves")
	hidden := a.now()
	require.True(t, hidden.Maintenance)
	require.Equal(t, "no conductor", text(hidden.Fault))
	require.Contains(t, text(hidden.MaintenanceReason), `No conductor service registered which supports driver redfish for conductor group "own"`)
	require.Contains(t, text(b.now().MaintenanceReason), "fan; No conductor")
	eventually(t, patience, func() error { return a.told("quarantined: No conductor") })
	two := begin("own-2")
	require.NoError(t, s.offers("own", a, b))
	require.False(t, a.now().Maintenance)
	eventually(t, patience, func() error { return a.told("released from quarantine") })

	// A kill takes effect after the timeout, and no process has to run for that.
	killed := time.Now()
	require.NoError(t, syscall.Kill(two.Pid(), syscall.SIGKILL))
	for _, role := range []string{"orchestrator", "conductor"} {
		s.killAll(t, role)
	}
	dead := time.Now()
	eventually(t, timeout+5*time.Second+slack, func() error { return s.offers("own") })
	t.Logf("not offered any more %s after the first was killed, %s after the last", time.Since(killed).Round(100*time.Millisecond), time.Since(dead).Round(100*time.Millisecond))
	for range 20 {
		require.NoError(t, s.offers("own"))
		require.NoError(t, s.offers(""))
	}
	require.True(t, a.now().Maintenance)

	begin("own-3") // and they are offered again, although no orchestrator runs
	eventually(t, timeout, func() error { return s.offers("own", a, b) })
	require.False(t, a.now().Maintenance)
}

// killAll ends all processes of a role as a power cut does, in a stack that does not start them again.
func (s *stack) killAll(t *testing.T, role string) {
	t.Helper()
	for _, p := range s.Of(role) {
		require.NoError(t, syscall.Kill(p.PID, syscall.SIGKILL))
	}
}

// told waits for an event in the node's history.
func (n *node) told(event string) error {
	var h struct {
		History []struct{ Event string }
	}
	if err := n.s.read("/v1/nodes/"+n.uuid+"/history?detail=true", &h); err != nil {
		return err
	}
	if !slices.ContainsFunc(h.History, func(e struct{ Event string }) bool { return strings.HasPrefix(e.Event, event) }) {
		return errors.New("the history says nothing of " + event)
	}
	return nil
}

// powersAreKnown checks that Temper notices power changes that it did not make, and that a BMC that does not answer is a fault
// until it answers again.
func powersAreKnown(t *testing.T, n *node) {
	t.Helper()
	sv := n.hardware()
	reset := map[bool]string{true: "ForceOff", false: "On"}
	for range 2 {
		powered := n.hardware().Powered
		a, err := request(http.MethodPost, sv.Address+sv.System+"/Actions/ComputerSystem.Reset", map[string]any{"ResetType": reset[powered]}, sv.login())
		require.NoError(t, err)
		require.Less(t, a.Status, 300, "%s", a.Body)
		want := map[bool]string{true: "power off", false: "power on"}[powered]
		eventually(t, patience, func() error {
			if now := n.now(); text(now.Power) != want {
				return fmt.Errorf("the node is %s, not %s", text(now.Power), want)
			}
			return nil
		})
	}
	n.spoil(fault{Kind: "unavailable"})
	eventually(t, patience, func() error {
		if now := n.now(); text(now.Fault) != "power failure" || !now.Maintenance {
			return fmt.Errorf("the fault is %s", text(now.Fault))
		}
		return nil
	})
	n.spoil()
	eventually(t, patience, func() error {
		if now := n.now(); now.Fault != nil || now.Maintenance || now.Power == nil {
			return fmt.Errorf("the fault is %s", text(now.Fault))
		}
		return nil
	})
}
