package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestALookupIsToldATokenThatIsKept(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, _ := running(t, s)
	type told struct {
		revealed   int
		same, seen bool
	}
	lookup := func(source string, reveal bool, fresh string) (told, string) {
		var got told
		token, err := s.AgentLookup(t.Context(), n.UUID, source, func(revealed int, same, seen bool) (bool, string) {
			got = told{revealed, same, seen}
			return reveal, fresh
		})
		require.NoError(t, err)
		return got, token
	}
	got, token := lookup("a", true, "t1")
	require.Equal(t, told{}, got)
	require.Equal(t, "t1", token)
	got, token = lookup("a", true, "")
	require.Equal(t, told{1, true, false}, got)
	require.Equal(t, "t1", token, "the lost answer is given again")
	got, token = lookup("b", false, "")
	require.Equal(t, told{2, false, false}, got)
	require.Empty(t, token)
	kept, err := s.AgentToken(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, "t1", kept)

	first, op, err := s.AgentHeartbeat(t.Context(), n.UUID, func(m *node.Node, token string) error {
		require.Equal(t, "t1", token)
		require.NotNil(t, m.Operation)
		require.True(t, m.Agent.HasToken)
		return nil
	}, node.Agent{URL: "https://10.0.0.2:9999", Version: "9.9", VerifyCA: "pem"})
	require.NoError(t, err)
	require.True(t, first)
	require.Equal(t, n.Operation.ID, op.ID)
	got, _ = lookup("a", false, "")
	require.True(t, got.seen)
	first, _, err = s.AgentHeartbeat(t.Context(), n.UUID, func(*node.Node, string) error { return nil }, node.Agent{URL: "https://10.0.0.3:9999"})
	require.NoError(t, err)
	require.False(t, first)
	m, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, "https://10.0.0.3:9999", m.Agent.URL)
	require.NotNil(t, m.Agent.LookedUpAt)
	require.True(t, m.Agent.LastHeartbeatAt.After(*m.Agent.FirstHeartbeatAt))

	_, err = s.AgentLookup(t.Context(), someUUID(), "a", func(int, bool, bool) (bool, string) { return true, "x" })
	kind(t, fault.NotFound, err)
}

func TestOfManyLookupsAtOnceOneMakesTheToken(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, _ := running(t, s)
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := s.AgentLookup(t.Context(), n.UUID, "a", func(revealed int, _, _ bool) (bool, string) {
				if revealed > 0 {
					return false, ""
				}
				made.Add(1)
				return true, "t"
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, made.Load())
}

func TestAHeartbeatThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, _ := running(t, s)
	no := fault.New(fault.Unauthorized, "no")
	_, _, err := s.AgentHeartbeat(t.Context(), n.UUID, func(_ *node.Node, token string) error {
		require.Empty(t, token)
		return no
	}, node.Agent{URL: "https://10.0.0.2:9999"})
	require.ErrorIs(t, err, no)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Nil(t, got.Agent)
	_, _, err = s.AgentHeartbeat(t.Context(), someUUID(), func(*node.Node, string) error { return nil }, node.Agent{})
	kind(t, fault.NotFound, err)
}

func TestAHeartbeatTouchesTheTimeoutOfANodeThatWaits(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n, o := running(t, s)
	beat := func() *time.Time {
		raw(t, url, "UPDATE nodes SET provision_updated_at = '2001-01-01'")
		_, _, err := s.AgentHeartbeat(t.Context(), n.UUID, func(*node.Node, string) error { return nil }, node.Agent{})
		require.NoError(t, err)
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		return got.ProvisionUpdatedAt
	}
	require.Equal(t, 2001, beat().Year(), "it works")
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Move: node.EventWait})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), *beat(), time.Minute, "it waits")
}

func TestInventories(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	_, _, err := s.Inventory(t.Context(), n.UUID)
	kind(t, fault.NotFound, err)
	op, err := s.PutInventory(t.Context(), n.UUID, map[string]any{"serial": "a\x00b"}, nil)
	require.NoError(t, err)
	require.Equal(t, o.ID, op.ID)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.NotNil(t, got.Agent.InspectedAt)

	require.NoError(t, s.CreatePort(t.Context(), &node.Port{NodeUUID: n.UUID, Address: "52:54:00:00:00:21", PhysicalNetwork: "mine"}))
	require.NoError(t, s.SaveInspection(t.Context(), o.ID, first, node.Inspection{
		Properties: map[string]any{"cpus": 4.0}, BootMode: "bios",
		Ports: []node.Port{{Address: "52:54:00:00:00:21", PXEEnabled: true}, {Address: "52:54:00:00:00:22", PXEEnabled: true}},
	}))
	require.NoError(t, s.SaveInspection(t.Context(), o.ID, first, node.Inspection{Properties: map[string]any{"memory_mb": 1.0}}), "again")
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"cpus": 4.0, "memory_mb": 1.0}, got.Properties)
	require.Equal(t, "bios", got.BootMode)
	ports, err := s.NodePorts(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Len(t, ports, 2)
	require.Equal(t, "mine", ports[0].PhysicalNetwork)
	inventory, plugin, err := s.Inventory(t.Context(), n.Name)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"serial": "ab"}, inventory, "no inventory keeps what is there")
	require.Empty(t, plugin)
	kind(t, fault.Invalid, s.SaveInspection(t.Context(), o.ID, first, node.Inspection{Ports: []node.Port{{Address: "no MAC"}}}))
}

func TestNodesAreFoundByTheirPorts(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := create(t, s, node.Available), create(t, s, node.Available)
	for mac, n := range map[string]*node.Node{"52:54:00:00:00:31": a, "52:54:00:00:00:32": a, "52:54:00:00:00:33": b} {
		require.NoError(t, s.CreatePort(t.Context(), &node.Port{NodeUUID: n.UUID, Address: mac}))
	}
	find := func(uuid string, macs ...string) (string, error) {
		n, err := s.NodeByPorts(t.Context(), uuid, macs)
		if err != nil {
			return "", err
		}
		return n.UUID, nil
	}
	got, err := find("", "52:54:00:00:00:31", "52:54:00:00:00:32", "52:54:00:00:00:99")
	require.NoError(t, err)
	require.Equal(t, a.UUID, got)
	got, err = find(b.UUID, "52:54:00:00:00:31")
	require.NoError(t, err)
	require.Equal(t, b.UUID, got, "the uuid is surer")
	_, err = find("", "52:54:00:00:00:31", "52:54:00:00:00:33")
	kind(t, fault.Conflict, err)
	for _, c := range [][]string{{""}, {"", "52:54:00:00:00:99"}, {someUUID()}, {a.Name}} {
		_, err = find(c[0], c[1:]...)
		kind(t, fault.NotFound, err)
	}
}
