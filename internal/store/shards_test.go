package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestShards(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	shards, err := s.Shards(t.Context())
	require.NoError(t, err)
	require.Empty(t, shards)
	raw(t, url, `INSERT INTO nodes (uuid, driver, interfaces, provision_state, shard) SELECT gen_random_uuid(), 'fake-hardware', '{}', 'available', s FROM unnest(ARRAY['b', 'a', 'b', NULL, 'a', 'b']) s`)
	shards, err = s.Shards(t.Context())
	require.NoError(t, err)
	require.Equal(t, []node.Shard{{Name: "b", Count: 3}, {Name: "a", Count: 2}, {Name: "None", Count: 1}}, shards)
}
