package store_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// While one transaction moves a node to another state, a second one changes what belongs to the node. The rules of the second one see
// the new state, because it waits for the first.
func TestTheRulesForWhatBelongsToANodeSeeTheNodeAsItIs(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	refused := fault.New(fault.Conflict, "it is on")
	off := func(n *node.Node) error {
		if n.PowerState != node.PowerOff {
			return refused
		}
		return nil
	}
	var n *node.Node
	for name, write := range map[string]func() error{
		"a port is changed": func() error {
			p := &node.Port{NodeUUID: n.UUID, Address: "52:54:00:00:00:01"}
			require.NoError(t, s.CreatePort(t.Context(), p))
			return during(t, s, url, n, func() error {
				_, err := s.UpdatePort(t.Context(), p.UUID, n.UUID, func(n *node.Node, _ *node.Port) error { return off(n) })
				return err
			})
		},
		"a port group is changed": func() error {
			g := &node.Portgroup{NodeUUID: n.UUID, Mode: "802.3ad"}
			require.NoError(t, s.CreatePortgroup(t.Context(), g))
			return during(t, s, url, n, func() error {
				_, err := s.UpdatePortgroup(t.Context(), g.UUID, n.UUID, func(n *node.Node, _ *node.Portgroup) error { return off(n) })
				return err
			})
		},
		"a volume connector is changed": func() error {
			v := &node.VolumeConnector{NodeUUID: n.UUID, Type: "iqn", ConnectorID: "c"}
			require.NoError(t, s.CreateVolumeConnector(t.Context(), v))
			return during(t, s, url, n, func() error {
				_, err := s.UpdateVolumeConnector(t.Context(), v.UUID, n.UUID, func(n *node.Node, _ *node.VolumeConnector) error { return off(n) })
				return err
			})
		},
		"a volume target is deleted": func() error {
			v := &node.VolumeTarget{NodeUUID: n.UUID, VolumeType: "iscsi", VolumeID: "v"}
			require.NoError(t, s.CreateVolumeTarget(t.Context(), v))
			return during(t, s, url, n, func() error { return s.DeleteVolumeTarget(t.Context(), v.UUID, n.UUID, off) })
		},
	} {
		n = create(t, s, node.Available)
		require.ErrorIs(t, write(), refused, name)
	}
}

// during runs write while another transaction switches the node on, which commits when write waits for it.
func during(t *testing.T, s interface {
	Node(ctx context.Context, ident string) (*node.Node, error)
}, url string, n *node.Node, write func() error,
) error {
	t.Helper()
	raw(t, url, `UPDATE nodes SET power_state = 'power off' WHERE uuid = '`+n.UUID+`'`)
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = c.Close(context.Background()) }()
	tx, err := c.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `UPDATE nodes SET power_state = 'power on' WHERE uuid = $1`, n.UUID)
	require.NoError(t, err)
	written := make(chan error, 1)
	go func() { written <- write() }()
	waits := false
	for !waits {
		select {
		case err := <-written:
			return err
		default:
		}
		waits = ask[bool](t, url, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
	}
	seen, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.PowerOff, seen.PowerState, "who reads it before finds it off")
	require.NoError(t, tx.Commit(t.Context()))
	return <-written
}

func TestAMoveMeanwhileIsToldToWhoeverChangesAPort(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b, elsewhere := create(t, s, node.Available), create(t, s, node.Available), create(t, s, node.Available)
	p := &node.Port{NodeUUID: a.UUID, Address: "52:54:00:00:00:01"}
	require.NoError(t, s.CreatePort(t.Context(), p))
	v := &node.VolumeConnector{NodeUUID: a.UUID, Type: "iqn", ConnectorID: "c"}
	require.NoError(t, s.CreateVolumeConnector(t.Context(), v))
	_, err := s.UpdatePort(t.Context(), p.UUID, b.UUID, func(*node.Node, *node.Port) error { return nil })
	kind(t, fault.Conflict, err)
	require.ErrorContains(t, err, "was moved to node "+a.UUID+" meanwhile")
	kind(t, fault.Conflict, s.DeleteVolumeConnector(t.Context(), v.UUID, b.UUID, func(*node.Node) error { return nil }))
	_, err = s.UpdateVolumeConnector(t.Context(), v.UUID, elsewhere.UUID, func(_ *node.Node, v *node.VolumeConnector) error { v.NodeUUID = elsewhere.UUID; return nil })
	require.NoError(t, err)
	kind(t, fault.NotFound, s.DeleteVolumeConnector(t.Context(), v.UUID, someUUID(), func(*node.Node) error { return nil }))
}
