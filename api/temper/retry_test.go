package temper_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestAPersonTriesAnUndoAgain(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.DeployFailed)
	b.SQL(`UPDATE nodes SET owed = '["eject media"]', owed_refused = true, owed_error = 'eject: 400'`)
	b.SQL(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, outcome, origin, conductor_group, driver, steps, ended_at)
		SELECT n.id, n.uuid, n.name, 'undo', 'ended', 'failed', n.provision_state, n.conductor_group, n.driver, '[]', now() FROM nodes n`)
	id := b.Get("/temper/v1/operations?kind=undo").Is(200)["operations"].([]any)[0].(map[string]any)["id"].(string)
	require.Contains(t, b.Get("/temper/v1/nodes/n1/why").Is(200)["commands"], "temper operation retry "+id)
	out := b.Post("/temper/v1/operations/"+id+"/retry", map[string]any{}).Is(202)
	require.Equal(t, "undo", out["kind"])
	require.Equal(t, id, out["retry_of"])
	n, err := b.Store.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.False(t, n.OwedRefused)
	b.Post("/temper/v1/operations/"+id+"/retry", map[string]any{}).Fails(409)
}

// A retry writes the image again, so that it refuses an image as the request does.
func TestARetryRefusesAnImageThatDoesNotFit(t *testing.T) {
	t.Parallel()
	b := fetching(t)
	redfishNode(b)
	url := images(t)
	b.SQL(`INSERT INTO node_inventory (node_id, inventory) SELECT id, '{"disks": [{"name": "/dev/sda", "size": 5368709120}]}' FROM nodes`)
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/image_source", url+"/huge.qcow2"), apitest.Add("/instance_info/image_checksum", digestOfAnImage)).Is(200)
	b.SQL(`UPDATE nodes SET provision_state = 'deploy failed'`)
	b.SQL(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, outcome, origin, target, conductor_group, driver, steps, ended_at)
		SELECT n.id, n.uuid, n.name, 'deploy', 'ended', 'failed', 'available', 'active', n.conductor_group, n.driver, '[]', now() FROM nodes n`)
	id := b.Get("/temper/v1/operations?kind=deploy").Is(200)["operations"].([]any)[0].(map[string]any)["id"].(string)
	refused := b.Post("/temper/v1/operations/"+id+"/retry", map[string]any{})
	require.Contains(t, refused.Fails(400), "needs 107 GB, and disk /dev/sda has 5.37 GB")
	require.Equal(t, "disk_too_small", refused.Is(400)["code"])

	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/image_source", url+"/good.raw")).Is(200)
	b.Post("/temper/v1/operations/"+id+"/retry", map[string]any{}).Is(202)
}

// Nobody has to end a maintenance that Temper has set because of a fault, and that ends when the fault does.
func TestARetryInAMaintenanceThatEndsByItselfSaysSo(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.DeployFailed)
	b.SQL(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, outcome, origin, target, conductor_group, driver, steps, ended_at)
		SELECT n.id, n.uuid, n.name, 'deploy', 'ended', 'failed', 'available', 'active', n.conductor_group, n.driver, '[]', now() FROM nodes n`)
	id := b.Get("/temper/v1/operations?kind=deploy").Is(200)["operations"].([]any)[0].(map[string]any)["id"].(string)
	retry := func() *apitest.Answer { return b.Post("/temper/v1/operations/"+id+"/retry", map[string]any{}) }

	b.SQL(`UPDATE nodes SET maintenance = true, maintenance_by_fault = true, fault = 'power failure', maintenance_reason = 'the power state can not be read'`)
	a := retry()
	require.Contains(t, a.Fails(400), "because it's in maintenance mode. Temper has set it because of a fault (power failure), and it ends by itself as soon as a conductor can read the power state again.")
	require.Equal(t, []string{"temper node why n1 says what that end waits for"}, a.Refused(400).Commands())

	b.SQL(`UPDATE nodes SET maintenance_by_fault = false`) // somebody has set it, too
	a = retry()
	require.NotContains(t, a.Fails(400), "by itself")
	require.Equal(t, []string{"temper node maintenance unset n1 ends the maintenance"}, a.Refused(400).Commands())
}
