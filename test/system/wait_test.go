package system_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
)

// blocked fails unless the operation waits for why, which blocks it.
func (n *node) blocked(id, why string) error {
	o, err := n.operation(id)
	state := "waiting"
	if why == paused {
		state = "paused"
	}
	if err == nil && (o.State != state || text(o.WaitingFor) != why) {
		err = fmt.Errorf("it waits for %q: %s", text(o.WaitingFor), o)
	}
	return err
}

// in returns a node that only the conductors of one group serve.
func in(t *testing.T, s *stack, group string) *node {
	t.Helper()
	n := available(t, s, s.rack)
	n.patch("conductor_group", group)
	return n
}

func die(t *testing.T, all ...*dev.Running) {
	t.Helper()
	for _, c := range all {
		require.NoError(t, syscall.Kill(c.Pid(), syscall.SIGKILL))
	}
}

func waitsFor(group string) string {
	return fmt.Sprintf("a conductor with driver redfish in conductor group %q", group)
}

func TestAnAgentsTimeStandsStillWhileNobodyCoversTheNode(t *testing.T) {
	t.Parallel()
	s := world(t)
	first := s.conductor(t, "still", "still-1")
	n := in(t, s, "still")
	n.spoil(fault{Kind: "no_agent"})
	id := n.provision("active", nil)
	n.await("wait call-back")
	o, err := n.operation(id)
	require.NoError(t, err)
	require.NotNil(t, o.Until)
	die(t, first)
	eventually(t, patience, func() error { return n.blocked(id, waitsFor("still")) })
	until, err := time.Parse(time.RFC3339Nano, text(o.Until))
	require.NoError(t, err)
	eventually(t, patience, func() error {
		if time.Now().Before(until.Add(2 * time.Second)) {
			return errors.New("its time would not be over yet")
		}
		return n.blocked(id, waitsFor("still"))
	})
	n.spoil()
	s.conductor(t, "still", "still-2")
	eventually(t, patience, func() error {
		now, err := n.operation(id)
		if err == nil && (text(now.WaitingFor) == waitsFor("still") || now.State == "ended" || text(now.Until) <= text(o.Until)) {
			err = fmt.Errorf("its time does not go on: until %s: %s", text(now.Until), now)
		}
		return err
	})
	require.Equal(t, id, n.power("rebooting"), "the first boot's agent does not come")
	n.deployed(id, digest(t, s.rack))
	require.False(t, slices.Contains(effects(n.hardware().Actions), "ForceOff Off->Off"))
}

func TestPastTheWaitForAConductorADeployFails(t *testing.T) {
	t.Parallel()
	s := world(t)
	for group, words := range map[string]string{"hasty": "within 3s", "never": "within 0s"} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			only := s.conductor(t, group, group+"-1")
			gate := make(chan struct{})
			l := newLibrary(t, gate)
			n := in(t, s, group)
			n.image(l.url+"/slow.raw", l.sha256)
			id := n.provision("active", nil)
			n.writing(l)
			die(t, only)
			defer close(gate)
			now := n.failedAlone(id, "deploy failed")
			require.Contains(t, text(now.LastError), words)
			require.Contains(t, text(now.LastError), "still to be undone")
			sent := len(n.hardware().Actions)

			n.spoil()
			s.conductor(t, group, group+"-2")
			eventually(t, patience, func() error {
				sv, err := n.r.read(n.server)
				if err == nil {
					err = sv.clean()
				}
				if err == nil && (len(sv.Actions) == sent) {
					err = fmt.Errorf("what is owed is not done: %v", effects(sv.Actions))
				}
				return err
			})
		})
	}
}

// failedAlone is failed, except that the error need not name the node.
func (n *node) failedAlone(id, state string) shown {
	n.t.Helper()
	o := n.over(id)
	require.Equal(n.t, "failed", text(o.Outcome), "%s", o)
	now := n.now()
	require.Equal(n.t, state, now.State, "%s", o)
	require.Nil(n.t, now.Reservation)
	return now
}

// An operation whose conductors were all killed is not stuck: if the node gets a driver that a live conductor has, it continues
// there.
func TestADriverIsChangedWhileNobodyCoversTheNode(t *testing.T) {
	t.Parallel()
	s := world(t)
	only := s.conductor(t, "swap", "swap-1")
	n := manageable(t, s, s.rack)
	n.patch("conductor_group", "swap")
	n.spoil(fault{Kind: "hang", Path: system})
	id := n.power("power on")
	n.running(id, "on")
	s.conductorWith(t, "fake-hardware", "swap", "swap-2")
	die(t, only)
	change := func() (answer, error) {
		// Another driver sends the password elsewhere, so a request that changes the driver must contain the password or remove it.
		return s.ask(http.MethodPatch, "/v1/nodes/"+n.uuid+"?reset_interfaces=true",
			append(set("driver", "fake-hardware"), map[string]any{"op": "remove", "path": "/driver_info/redfish_password"}))
	}
	eventually(t, patience, func() error { // as long as its conductor is not taken for dead, the operation is waited for, and then it is 409
		a, err := change()
		if err == nil && a.Status != http.StatusOK {
			require.Equal(t, http.StatusConflict, a.Status, a.Words())
			err = errors.New(a.Words())
		}
		return err
	})
	now := n.done(id, "manageable")
	require.Equal(t, "power on", text(now.Power))
	o, err := n.operation(id)
	require.NoError(t, err)
	require.Equal(t, "swap-2", text(o.Conductor))
	require.Empty(t, n.hardware().Actions, "the server itself is not touched any more")
}
