package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestStrandedNodesGoWhereTheTableSaysAndOweWhatMayBeHalfDone(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	const safe = 9 * time.Second
	settle := func(want int) {
		t.Helper()
		did, err := s.FailStranded(t.Context(), safe)
		require.NoError(t, err)
		require.Equal(t, want, did)
	}
	nodes := map[node.State]*node.Node{}
	for _, state := range node.States() {
		nodes[state] = create(t, s, node.Available)
		raw(t, url, `UPDATE nodes SET provision_state = $2, target_provision_state = 'x', instance_uuid = gen_random_uuid(), lessee = 'p',
			driver_internal_info = '{"automatic_lessee": true}', instance_info = '{"a": "b"}', owed = '["eject media"]' WHERE uuid = $1`,
			nodes[state].UUID, string(state))
	}
	held, _ := running(t, s)
	settle(0)
	raw(t, url, `UPDATE nodes SET provision_updated_at = now() - interval '10 seconds'`)
	settle(len(node.TransientStates()))
	settle(0)
	for state, n := range nodes {
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		if !node.Transient(state) {
			require.Equal(t, state, got.ProvisionState)
			require.Equal(t, []node.Undo{node.UndoEjectMedia}, got.Owed)
			continue
		}
		failed, err := node.Next(state, node.FailureEvent(state))
		require.NoError(t, err)
		require.Equal(t, failed, got.ProvisionState)
		require.Equal(t, node.TargetOf(failed), got.TargetProvisionState)
		require.Contains(t, got.LastError, string(state))
		require.Equal(t, state == node.Deleting, got.InstanceUUID == "")
		require.Equal(t, state == node.Deleting, got.Lessee == "")
		require.Equal(t, state == node.Deleting, len(got.InstanceInfo) == 0)
		want := []node.Undo{node.UndoEjectMedia}
		if state != node.Verifying && state != node.Adopting { // no ramdisk was booted
			want = append(want, node.UndoClearBoot)
		}
		require.Equal(t, want, got.Owed, "what was owed stays, and once")
		history, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 1})
		require.NoError(t, err)
		require.Contains(t, history[0].Event, "no operation held the node")
	}
	got, err := s.Node(t.Context(), held.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Deploying, got.ProvisionState, "what an operation holds is left alone")
}
