package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestShards(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	require.Equal(t, []any{}, b.Get("/v1/shards").Is(200)["shards"])
	for name, shard := range map[string]any{"n1": "b", "n2": "b", "n3": "b", "n4": "a", "n5": nil, "n6": nil} {
		b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": name, "shard": shard}).Is(201)
	}
	require.Equal(t, []any{
		map[string]any{"name": "b", "count": 3.0}, map[string]any{"name": "None", "count": 2.0}, map[string]any{"name": "a", "count": 1.0},
	}, b.Get("/v1/shards").Is(200)["shards"], "nodes without a shard are those of None, as in Ironic")
	b.Get("/v1/shards?limit=1").Fails(400)
	b.Get("/v1/shards/b").Fails(404)
	b.At(81, "GET", "/v1/shards", nil).Fails(404)
}
