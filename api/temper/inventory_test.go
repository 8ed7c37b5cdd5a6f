package temper_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestTheHardwareOfANodeIsCompared(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	b.Get("/temper/v1/nodes/n1/inventory").Fails(404)
	b.SQL(`INSERT INTO node_inventory (node_id, inventory, facts, changes, before, before_at)
		SELECT id, '{"disks": [{"name": "/dev/sda", "size": 480103981056, "serial": "S1", "wwn": null, "rotational": false}, {"name": "/dev/sdb"}, "no disk"]}', '{"BIOS": "2.1", "GPUs": "none"}',
			'{"list": [{"kind": "memory", "name": "A2", "before": "32 GiB", "after": ""}], "more": 3}', '{}', now() FROM nodes WHERE uuid = $1`, uuid)
	body := b.Get("/temper/v1/nodes/n1/inventory").Is(200)
	require.Equal(t, []any{map[string]any{"name": "BIOS", "value": "2.1"}, map[string]any{"name": "GPUs", "value": "none"}}, body["facts"])
	require.Equal(t, []any{map[string]any{
		"kind": "memory", "name": "A2", "before": "32 GiB", "after": nil, "text": "memory A2 gone (32 GiB)",
	}}, body["changes"])
	require.EqualValues(t, 3, body["more_changes"])
	require.NotNil(t, body["changed_since"])
	require.Equal(t, []any{
		map[string]any{"name": "/dev/sda", "size": 480103981056.0, "model": "", "serial": "S1", "wwn": "", "rotational": false},
		map[string]any{"name": "/dev/sdb", "size": 0.0, "model": "", "serial": "", "wwn": "", "rotational": nil},
	}, body["disks"])
	require.Nil(t, body["siblings"].(map[string]any)["resource_class"])

	for _, name := range []string{"n2", "n3"} {
		b.SQL(`INSERT INTO node_inventory (node_id, inventory, facts) SELECT id, '{}', '{"BIOS": "2.2"}' FROM nodes WHERE uuid = $1`, b.Enrolled(name))
	}
	b.SQL(`UPDATE nodes SET resource_class = 'gold'`)
	siblings := b.Get("/temper/v1/nodes/" + uuid + "/inventory").Is(200)["siblings"].(map[string]any)
	require.Equal(t, map[string]any{
		"resource_class": "gold", "compared": 2.0,
		"differences": []any{map[string]any{"name": "BIOS", "value": "2.1", "usual": "2.2", "nodes": 2.0, "of": 2.0}},
	}, siblings)
	b.Get("/temper/v1/nodes/n1/inventory?x=1").Fails(400)
	b.Get("/temper/v1/nodes/nobody/inventory").Fails(404)
}
