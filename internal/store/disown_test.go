package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
	"go.temper.dev/temper/internal/store"
)

func instances(t testing.TB, s *store.Store) []share.Instance {
	t.Helper()
	all, err := s.Instances(t.Context(), share.InstanceFilter{})
	require.NoError(t, err)
	return all
}

// What happens to the instance when its allocation is deleted, in each state of the
// node.
func TestAnInstanceOutlastsItsAllocationWhileItIsOnTheNode(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	for _, state := range node.States() {
		raw(t, url, `DELETE FROM nodes`)
		free(t, url, "gold", 1)
		a := allocate(t, s, node.Allocation{ResourceClass: "gold"})
		got := instances(t, s)
		require.Len(t, got, 1)
		require.Equal(t, []any{a.UUID, a.NodeUUID, "", false, true}, []any{got[0].UUID, got[0].Node, got[0].Service, got[0].Absent, got[0].Standing})
		raw(t, url, `UPDATE nodes SET provision_state = $1`, state)
		require.NoError(t, s.DeleteAllocation(t.Context(), a.UUID, "ann", func(*node.Node) error { return nil }))
		_, err := s.Allocation(t.Context(), a.UUID)
		kind(t, fault.NotFound, err)
		n, err := s.Node(t.Context(), "gold-1")
		require.NoError(t, err)
		require.Empty(t, n.AllocationUUID)
		if n.Undeployed() {
			require.Empty(t, n.InstanceUUID, state)
			require.Empty(t, n.InstanceInfo)
			require.Empty(t, instances(t, s))
			require.Equal(t, state == node.Available, len(offered(t, s, node.AvailableFilter{})) == 1, state)
			continue
		}
		require.Equal(t, a.UUID, n.InstanceUUID, state)
		got = instances(t, s)
		require.Equal(t, []any{true, true}, []any{got[0].Absent, got[0].Standing}, "orphaned at once")
		require.Empty(t, offered(t, s, node.AvailableFilter{}))
		raw(t, url, `UPDATE nodes SET provision_state = 'available'`)
		require.Empty(t, offered(t, s, node.AvailableFilter{}), "it counts as used in every state")
	}
}

func TestTheOrphanOfAnAllocationIsGivenBackWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 1)
	a := allocate(t, s, node.Allocation{ResourceClass: "gold"})
	raw(t, url, `UPDATE nodes SET provision_state = 'active'`)
	require.NoError(t, maintain(t, s, "gold-1", true, "fan", "ann"))
	require.NoError(t, s.DeleteAllocation(t.Context(), a.UUID, "ann", func(n *node.Node) error { return admission.Deallocate(n, "") }))
	orphans := func() []share.Orphan {
		out, err := s.Orphans(t.Context(), 30*time.Minute, 10)
		require.NoError(t, err)
		return out
	}
	require.Empty(t, orphans())
	raw(t, url, `UPDATE instances SET absent_since = absent_since - interval '31 minutes'`)
	require.Empty(t, orphans(), "an operator works on it")
	require.NoError(t, maintain(t, s, "gold-1", false, "", "ann"))
	require.Equal(t, []share.Orphan{{Instance: a.UUID, Node: a.NodeUUID}}, orphans())
	again := &node.Allocation{ResourceClass: "gold", UUID: a.UUID}
	require.NoError(t, s.Allocate(t.Context(), again, node.AllocationSearch{}, ""))
	require.Equal(t, node.AllocError, again.State, "the node is none to give")
}

func TestABackfilledInstanceIsRecordedUnlessItWasSetByHand(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 2)
	raw(t, url, `UPDATE nodes SET provision_state = 'active', maintenance = true, instance_info = '{"nova_host_id": "Host-1"}'`)
	patched := someUUID()
	_, err := s.UpdateNode(t.Context(), "gold-2", "ann", func(n *node.Node) (node.Secrets, error) {
		n.InstanceUUID, n.InstanceInfo = patched, map[string]any{}
		return nil, nil
	})
	require.NoError(t, err)
	allow := func(*node.Node) error { return nil }
	for name, id := range map[string]string{"gold-1": someUUID(), "gold-2": patched} {
		a := &node.Allocation{UUID: id, ResourceClass: "gold"}
		require.NoError(t, s.Backfill(t.Context(), name, a, "ann", allow))
	}
	got := instances(t, s)
	require.Len(t, got, 1)
	require.Equal(t, "host-1", got[0].Service, "the one that instance_info names")
	for _, name := range []string{"gold-1", "gold-2"} {
		n, err := s.Node(t.Context(), name)
		require.NoError(t, err)
		require.NoError(t, s.DeleteAllocation(t.Context(), n.AllocationUUID, "ann", allow))
	}
	n, err := s.Node(t.Context(), "gold-2")
	require.NoError(t, err)
	require.Equal(t, []any{"", node.Active}, []any{n.InstanceUUID, n.ProvisionState}, "set by hand, it is taken off as in Ironic, and nothing is undeployed")
	raw(t, url, `UPDATE nodes SET maintenance = false`)
	orphans, err := s.Orphans(t.Context(), -time.Minute, 10)
	require.NoError(t, err)
	require.Len(t, orphans, 1)
	require.Equal(t, got[0].UUID, orphans[0].Instance)
}
