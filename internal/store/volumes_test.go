package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func TestSecretsOfVolumeTargets(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Available)
	targets := make([]node.VolumeTarget, 502) // more than are sealed again at once
	for i := range targets {
		v := &targets[i]
		*v = node.VolumeTarget{NodeUUID: n.UUID, VolumeType: "iscsi", VolumeID: "v", BootIndex: i, Properties: map[string]any{"auth_password": "******"}, Extra: map[string]any{}}
		v.Hidden.Clear = map[string]any{"/auth_password": fmt.Sprint("secret ", i)}
		require.NoError(t, s.CreateVolumeTarget(t.Context(), v))
	}
	read, err := s.VolumeTarget(t.Context(), targets[7].UUID)
	require.NoError(t, err)
	require.Equal(t, &targets[7], read)
	listed, err := s.VolumeTargets(t.Context(), &n.UUID, node.Page{Limit: 1})
	require.NoError(t, err)
	require.Nil(t, listed[0].Hidden.Clear)

	newer, err := store.AddKey(keyset)
	require.NoError(t, err)
	both := connect(t, store.Config{URL: url, Keyset: newer})
	count, err := both.Rotate(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, len(targets), count)
	require.EqualValues(t, 1, ask[int64](t, url, "SELECT count(DISTINCT key_id) FROM volume_targets"))
	read, err = both.VolumeTarget(t.Context(), targets[501].UUID)
	require.NoError(t, err)
	require.Equal(t, targets[501].Hidden.Clear, read.Hidden.Clear)
	closed, err := s.VolumeTarget(t.Context(), targets[501].UUID)
	require.NoError(t, err, "it can be shown, and deleted")
	require.Equal(t, fault.SecretUnreadable, fault.CodeOf(closed.Hidden.Unreadable))
	require.Nil(t, closed.Hidden.Clear)

	raw(t, url, `UPDATE volume_targets a SET ciphertext = b.ciphertext FROM volume_targets b WHERE a.boot_index = 1 AND b.boot_index = 2`)
	copied, err := both.VolumeTarget(t.Context(), targets[1].UUID)
	require.NoError(t, err)
	require.Equal(t, fault.SecretUnreadable, fault.CodeOf(copied.Hidden.Unreadable), "a copied secret does not open")
	allow := func(*node.Node) error { return nil }
	_, err = both.UpdateVolumeTarget(t.Context(), copied.UUID, n.UUID, func(*node.Node, *node.VolumeTarget) error { return nil })
	require.Equal(t, fault.SecretUnreadable, fault.CodeOf(err), "what does not open is not lost by a change of something else")
	require.NoError(t, both.DeleteVolumeTarget(t.Context(), copied.UUID, n.UUID, allow))
}
