package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestPortgroups(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := create(t, s, node.Available), create(t, s, node.Available)
	g := &node.Portgroup{
		NodeUUID: a.UUID, Address: "52:54:00:00:00:01", Name: "bond0", Mode: "802.3ad", StandalonePortsSupported: true, PhysicalNetwork: "net", Category: "fast",
		DynamicPortgroup: true, Properties: map[string]any{"miimon": "100"}, Extra: map[string]any{"k": "v"}, InternalInfo: map[string]any{},
	}
	require.NoError(t, s.CreatePortgroup(t.Context(), g))
	for _, ident := range []string{g.UUID, "bond0"} {
		got, err := s.Portgroup(t.Context(), ident)
		require.NoError(t, err)
		require.Equal(t, g, got)
	}
	got, err := s.UpdatePortgroup(t.Context(), "bond0", a.UUID, func(n *node.Node, g *node.Portgroup) error {
		require.Equal(t, a.UUID, n.UUID)
		g.NodeUUID, g.Name, g.Address, g.ID, g.UUID = b.UUID, "", "", 0, ""
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, g.UUID, got.UUID)
	again, err := s.Portgroup(t.Context(), g.UUID)
	require.NoError(t, err)
	require.Equal(t, got, again)
	require.Equal(t, b.UUID, again.NodeUUID)

	no := fault.New(fault.Conflict, "no")
	_, err = s.UpdatePortgroup(t.Context(), g.UUID, b.UUID, func(*node.Node, *node.Portgroup) error { return no })
	require.ErrorIs(t, err, no)
	for _, uuid := range []string{someUUID(), "n1", ""} {
		_, err = s.UpdatePortgroup(t.Context(), g.UUID, b.UUID, func(_ *node.Node, g *node.Portgroup) error { g.NodeUUID = uuid; return nil })
		kind(t, fault.NotFound, err)
		kind(t, fault.NotFound, s.CreatePortgroup(t.Context(), &node.Portgroup{NodeUUID: uuid, Mode: "x"}))
	}

	port := &node.Port{NodeUUID: a.UUID, Address: "52:54:00:00:00:02", PortgroupUUID: g.UUID}
	kind(t, fault.NotFound, s.CreatePort(t.Context(), port)) // the group is another node's
	port.NodeUUID = b.UUID
	require.NoError(t, s.CreatePort(t.Context(), port))
	kind(t, fault.Invalid, s.DeletePortgroup(t.Context(), g.UUID))
	_, err = s.UpdatePortgroup(t.Context(), g.UUID, b.UUID, func(_ *node.Node, g *node.Portgroup) error { g.NodeUUID = a.UUID; return nil })
	kind(t, fault.Invalid, err)
	require.NoError(t, s.DeletePort(t.Context(), port.UUID))
	require.NoError(t, s.DeletePortgroup(t.Context(), g.UUID))
	kind(t, fault.NotFound, s.DeletePortgroup(t.Context(), g.UUID))
	_, err = s.Portgroup(t.Context(), g.UUID)
	kind(t, fault.NotFound, err)
	_, err = s.UpdatePortgroup(t.Context(), g.UUID, b.UUID, func(*node.Node, *node.Portgroup) error { return nil })
	kind(t, fault.NotFound, err)
}
