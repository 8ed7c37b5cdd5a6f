package system_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

const paused = "paused: maintenance"

func (n *node) maintain() {
	n.t.Helper()
	n.s.must(n.t, http.StatusAccepted, http.MethodPut, "/v1/nodes/"+n.uuid+"/maintenance", map[string]any{"reason": "fan"})
}

func (n *node) release() {
	n.t.Helper()
	n.s.must(n.t, http.StatusAccepted, http.MethodDelete, "/v1/nodes/"+n.uuid+"/maintenance", nil)
}

// The running step ends and no other begins until maintenance is lifted; then the operation continues.
func TestMaintenanceInTheMiddlePausesAndGoesOn(t *testing.T) {
	t.Parallel()
	s := world(t)

	t.Run("in a step", func(t *testing.T) {
		t.Parallel()
		gate := make(chan struct{})
		l := newLibrary(t, gate)
		n := available(t, s, s.rack)
		n.image(l.url+"/slow.raw", l.sha256)
		id := n.provision("active", nil)
		n.writing(l)
		n.maintain()
		require.Equal(t, "wait call-back", n.now().State)
		close(gate)
		eventually(t, patience, func() error { return n.blocked(id, paused) })
		o, err := n.operation(id)
		require.NoError(t, err)
		st, _ := o.step("write_image")
		require.Equal(t, "done", st.State, "%s", o)
		st, _ = o.step("prepare_instance_boot")
		require.Equal(t, "pending", st.State, "%s", o)
		require.Nil(t, o.Until)
		require.Equal(t, "wait call-back", n.now().State, "clients see the state it was in")
		n.release()
		n.deployed(id, l.sha256)
		require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions))
	})

	t.Run("while the agent is waited for", func(t *testing.T) {
		t.Parallel()
		v := &valve{path: "/v1/heartbeat"}
		n := available(t, s, ownRack(t, newProxy(t, s.APIURL, v.between), sim.Config{Servers: 1}))
		v.shutAfter(0)
		id := n.provision("active", nil)
		n.await("wait call-back")
		n.maintain()
		require.NoError(t, n.blocked(id, paused), "at once")
		eventually(t, patience, func() error {
			if v.turnedAway() == 0 {
				return errors.New("the agent does not call")
			}
			return nil
		})
		v.open()
		eventually(t, patience, func() error {
			sv, err := n.r.read(n.server)
			if err == nil && sv.Heartbeats == 0 {
				err = errors.New("no heartbeat")
			}
			return err
		})
		require.NoError(t, n.blocked(id, paused), "the agent's call does not drive it")
		require.Empty(t, n.hardware().steps())
		n.release()
		n.deployed(id, digest(t, n.r))
	})

	t.Run("and it can be ended", func(t *testing.T) {
		t.Parallel()
		n, id := waitingForItsAgent(t, s)
		n.maintain()
		require.NoError(t, n.blocked(id, paused))
		require.Equal(t, id, n.provision("abort", nil))
		n.leftByDeploy(n.cancelled(id, "deploy failed"))
		require.True(t, n.now().Maintenance)
	})
}

// If the conductor dies while its node is in maintenance, the operation ends without touching the hardware.
func TestAConductorThatDiesWhileItsOperationIsPaused(t *testing.T) {
	t.Parallel()
	s := world(t)
	for name, c := range map[string]struct {
		group      string
		late, back bool
	}{
		"in a step":                        {group: "mend"},
		"between two":                      {group: "mended", late: true},
		"between two, and is back at once": {group: "menders", late: true, back: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group, late := c.group, c.late
			only := s.conductor(t, group, group+"-1")
			gate := make(chan struct{})
			l := newLibrary(t, gate)
			n := in(t, s, group)
			n.image(l.url+"/slow.raw", l.sha256)
			id := n.provision("active", nil)
			n.writing(l)
			n.maintain()
			if late {
				close(gate)
				eventually(t, patience, func() error { return n.blocked(id, paused) })
			}
			before := len(n.hardware().Actions)
			if !c.back {
				s.conductor(t, group, group+"-2")
			}
			if !late {
				defer close(gate)
			}
			die(t, only)
			if c.back {
				s.conductor(t, group, group+"-1")
			}
			now := n.failedAlone(id, "deploy failed")
			require.Contains(t, text(now.LastError), "was put into maintenance in the middle of the deploy")
			require.Contains(t, text(now.LastError), "still to be undone")
			require.Nil(t, now.Reservation)
			require.True(t, now.Maintenance)
			require.Len(t, n.hardware().Actions, before, "the hardware is not touched")

			n.release()
			eventually(t, patience, func() error {
				sv, err := n.r.read(n.server)
				if err == nil {
					err = sv.clean()
				}
				return err
			})
		})
	}
}

// A conductor that is stopped hands a paused operation over.
func TestAPausedOperationIsHandedOver(t *testing.T) {
	t.Parallel()
	s := world(t)
	first := s.conductor(t, "shift", "shift-1")
	gate := make(chan struct{})
	l := newLibrary(t, gate)
	n := in(t, s, "shift")
	n.image(l.url+"/slow.raw", l.sha256)
	id := n.provision("active", nil)
	n.writing(l)
	n.maintain()
	s.conductor(t, "shift", "shift-2")
	require.NoError(t, first.Stop(t.Context()))
	eventually(t, patience, func() error { return n.blocked(id, paused) })
	o, err := n.operation(id)
	require.NoError(t, err)
	st, _ := o.step("write_image")
	require.Equal(t, "running", st.State, "%s", o)
	close(gate)
	n.release()
	n.deployed(id, l.sha256)
	require.Equal(t, []string{"write_image"}, n.hardware().steps(), "asked, not repeated")
}
