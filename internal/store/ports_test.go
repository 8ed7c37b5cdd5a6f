package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestPorts(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := create(t, s, node.Available), create(t, s, node.Available)
	p := &node.Port{
		NodeUUID: a.UUID, Address: "52:54:00:00:00:01", Name: "eth0", Description: "first", PXEEnabled: true, IsSmartNIC: true,
		LocalLinkConnection: map[string]any{"switch_id": "x"}, PhysicalNetwork: "net", Extra: map[string]any{"k": "v"}, InternalInfo: map[string]any{},
	}
	require.NoError(t, s.CreatePort(t.Context(), p))
	for _, ident := range []string{p.UUID, "eth0"} {
		got, err := s.Port(t.Context(), ident)
		require.NoError(t, err)
		require.Equal(t, p, got)
	}
	got, err := s.UpdatePort(t.Context(), "eth0", a.UUID, func(n *node.Node, p *node.Port) error {
		require.Equal(t, a.UUID, n.UUID)
		p.NodeUUID, p.Name, p.Address, p.ID, p.UUID = b.UUID, "", "52:54:00:00:00:02", 0, ""
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, p.UUID, got.UUID)
	require.NotNil(t, got.UpdatedAt)
	again, err := s.Port(t.Context(), p.UUID)
	require.NoError(t, err)
	require.Equal(t, got, again)
	require.Equal(t, b.UUID, again.NodeUUID)

	no := fault.New(fault.Conflict, "no")
	_, err = s.UpdatePort(t.Context(), p.UUID, b.UUID, func(*node.Node, *node.Port) error { return no })
	require.ErrorIs(t, err, no)
	for _, uuid := range []string{someUUID(), "n1", ""} {
		_, err = s.UpdatePort(t.Context(), p.UUID, b.UUID, func(_ *node.Node, p *node.Port) error { p.NodeUUID = uuid; return nil })
		kind(t, fault.NotFound, err)
		kind(t, fault.NotFound, s.CreatePort(t.Context(), &node.Port{NodeUUID: uuid, Address: "52:54:00:00:00:03"}))
	}
	kind(t, fault.Invalid, s.CreatePort(t.Context(), &node.Port{NodeUUID: a.UUID, Address: "52:54:00:00:00:0G"}))
	require.NoError(t, s.DeletePort(t.Context(), p.UUID))
	kind(t, fault.NotFound, s.DeletePort(t.Context(), p.UUID))
	_, err = s.Port(t.Context(), p.UUID)
	kind(t, fault.NotFound, err)
	_, err = s.UpdatePort(t.Context(), p.UUID, b.UUID, func(*node.Node, *node.Port) error { return nil })
	kind(t, fault.NotFound, err)
}

func TestPortLists(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := create(t, s, node.Available), create(t, s, node.Available)
	_, err := s.UpdateNode(t.Context(), b.UUID, "", func(n *node.Node) (node.Secrets, error) { n.Shard = "s1"; return nil, nil })
	require.NoError(t, err)
	for i := range 6 {
		n := a
		if i%2 == 1 {
			n = b
		}
		require.NoError(t, s.CreatePort(t.Context(), &node.Port{NodeUUID: n.UUID, Address: fmt.Sprintf("52:54:00:00:01:%02x", 9-i), Description: fmt.Sprint("Port ", i)}))
	}
	list := func(f node.PortFilter, p node.Page) (out []string) {
		ports, err := s.Ports(t.Context(), f, p)
		require.NoError(t, err)
		for _, p := range ports {
			out = append(out, p.Description)
		}
		return out
	}
	require.Equal(t, []string{"Port 0", "Port 2", "Port 4"}, list(node.PortFilter{Node: &a.Name}, node.Page{}))
	require.Equal(t, []string{"Port 1", "Port 3", "Port 5"}, list(node.PortFilter{Shards: []string{"s1"}}, node.Page{}))
	require.Equal(t, []string{"Port 3"}, list(node.PortFilter{DescriptionContains: ptr("port 3")}, node.Page{}))
	require.Equal(t, []string{"Port 0"}, list(node.PortFilter{Address: ptr("52:54:00:00:01:09")}, node.Page{}))
	firstPage, err := s.Ports(t.Context(), node.PortFilter{}, node.Page{SortKey: "address", Limit: 4})
	require.NoError(t, err)
	require.Equal(t, "Port 5", firstPage[0].Description)
	require.Equal(t, []string{"Port 1", "Port 0"}, list(node.PortFilter{}, node.Page{SortKey: "address", Marker: firstPage[3].UUID}))
	_, err = s.Ports(t.Context(), node.PortFilter{Node: ptr("nobody")}, node.Page{})
	kind(t, fault.NotFound, err)
	_, err = s.Ports(t.Context(), node.PortFilter{}, node.Page{Marker: someUUID()})
	kind(t, fault.NotFound, err)
}
