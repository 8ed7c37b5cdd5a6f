package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

func TestOneConductorAtATimeHoldsAConsole(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	register := func(name string) node.Host {
		incarnation, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name})
		require.NoError(t, err)
		return node.Host{Name: name, Incarnation: incarnation}
	}
	c1, c2 := register("c1"), register("c2")
	n := &node.Node{Name: "n1", Driver: "ipmi", Interfaces: map[string]string{"console": "ipmitool-socat"}, DriverInfo: map[string]any{"ipmi_terminal_port": "6001"}}
	require.NoError(t, s.CreateNode(t.Context(), n, node.Secrets{"driver_info/ipmi_password": "hunter2"}, "admin"))
	enable := func(on bool) {
		t.Helper()
		require.NoError(t, s.EnableConsole(t.Context(), "n1", on, "ann", func(*node.Node) error { return nil }))
	}
	owned := func(c node.Host, drivers ...string) []node.ConsoleOwned {
		t.Helper()
		out, err := s.ConsolesOwned(t.Context(), c, drivers, 0, 10)
		require.NoError(t, err)
		return out
	}
	owner := func(c node.Host) {
		raw(t, url, `INSERT INTO ring_owners (node_id, conductor_id) SELECT n.id, c.id FROM nodes n, conductors c WHERE c.hostname = '`+c.Name+`' ON CONFLICT (node_id) DO UPDATE SET conductor_id = excluded.conductor_id`)
	}
	hold := func(c node.Host) []node.ConsoleHeld {
		t.Helper()
		out, err := s.HoldConsoles(t.Context(), c, []int64{n.ID})
		require.NoError(t, err)
		return out
	}
	save := func(claim int64, session bool, failure string) bool {
		t.Helper()
		kept, err := s.SaveConsoles(t.Context(), []node.ConsoleState{{ID: n.ID, Claim: claim, Address: "192.0.2.1:1", Session: session, Error: failure, Pause: time.Minute}, {ID: n.ID + 1, Claim: claim}})
		require.NoError(t, err)
		return kept[n.ID] == claim
	}
	owner(c1)
	require.Empty(t, owned(c1, "ipmi"), "it is not enabled")
	require.Empty(t, hold(c1))
	enable(true)
	require.Equal(t, []node.ConsoleOwned{{ID: n.ID}}, owned(c1, "ipmi"))
	require.Empty(t, owned(c1, "redfish"))
	require.Empty(t, owned(c2, "ipmi"))
	require.Empty(t, hold(c2), "another conductor owns it")
	require.Empty(t, owned(node.Host{Name: "c1", Incarnation: c1.Incarnation + 100}, "ipmi"), "this is another process")

	first := hold(c1)
	require.Len(t, first, 1)
	require.Equal(t, 6001, first[0].ConsolePort())
	require.False(t, first[0].Left)
	require.Equal(t, first[0].Claim, owned(c1, "ipmi")[0].Claim)
	require.True(t, save(first[0].Claim, true, "no answer"))
	told, err := s.Console(t.Context(), n.ID)
	require.NoError(t, err)
	require.Equal(t, []any{"c1", "192.0.2.1:1", "no answer"}, []any{told.Conductor, told.Address, told.Error})
	require.WithinDuration(t, told.ErrorAt.Add(time.Minute), *told.NextAt, time.Millisecond)

	owner(c2)
	require.Empty(t, owned(c1, "ipmi"))
	require.Equal(t, []node.ConsoleOwned{{ID: n.ID}}, owned(c2, "ipmi"))
	second := hold(c2)
	require.Greater(t, second[0].Claim, first[0].Claim)
	require.True(t, second[0].Left, "the first one has not given its session back")
	require.False(t, save(first[0].Claim, false, ""), "who does not hold it any more writes nothing")
	require.True(t, save(second[0].Claim, false, ""))
	require.NoError(t, s.ReleaseConsoles(t.Context(), map[int64]int64{n.ID: first[0].Claim}))
	told, err = s.Console(t.Context(), n.ID)
	require.NoError(t, err)
	require.Equal(t, node.Console{Conductor: "c2", Claim: second[0].Claim, Address: "192.0.2.1:1"}, told)

	require.NoError(t, s.StopConductor(t.Context(), "c2", c2.Incarnation))
	told, err = s.Console(t.Context(), n.ID)
	require.NoError(t, err)
	require.Zero(t, told)

	enable(false)
	require.False(t, save(second[0].Claim, true, ""), "it was disabled")
	enable(true)
	c2 = register("c2")
	third := hold(c2)
	require.Greater(t, third[0].Claim, second[0].Claim, "claims are never used again")
	require.NoError(t, s.ReleaseConsoles(t.Context(), map[int64]int64{n.ID: third[0].Claim}))
	require.Zero(t, ask[int](t, url, "SELECT count(*) FROM consoles"))

	hold(c2)
	require.NoError(t, s.DeleteNode(t.Context(), "n1", "ann", func(*node.Node) error { return nil }))
	require.Zero(t, ask[int](t, url, "SELECT count(*) FROM consoles"))
	require.ErrorContains(t, s.EnableConsole(t.Context(), "n1", true, "ann", func(*node.Node) error { return nil }), "could not be found")
}
