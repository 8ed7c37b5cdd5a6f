package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestInventory(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	id := b.Enrolled("n1")
	b.Get("/v1/nodes/n1/inventory").Fails(404)
	b.SQL(`INSERT INTO node_inventory (node_id, inventory, plugin_data, collected_at) SELECT id, '{"cpu": {"count": 4}}', '{}', now() FROM nodes WHERE uuid = $1`, id)
	require.Equal(t, map[string]any{"inventory": map[string]any{"cpu": map[string]any{"count": 4.0}}, "plugin_data": map[string]any{}}, b.Get("/v1/nodes/n1/inventory").Is(200))
}
