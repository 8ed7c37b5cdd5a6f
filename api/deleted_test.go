package api_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/node"
)

func TestTheHistoryOfADeletedNodeCanBeRead(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("x"), bcrypt.MinCost)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, []byte("ann:"+string(hash)+"\n"), 0o600))
	b := newBench(t, func(c *config) { c.Auth = api.Auth{Strategy: api.HTTPBasic, File: file} }).withConductors()
	b.user = "ann:x"
	uuid := b.in("n1", node.Manageable)
	b.put("/v1/nodes/n1/maintenance", map[string]any{"reason": "it smokes"}).is(202)
	id := b.put("/v1/nodes/n1/states/power", request("power on")).header.Get("Temper-Operation")
	b.sql(`UPDATE operations SET phase = 'ended', outcome = 'failed', ended_at = now()`)
	b.delete("/v1/nodes/n1").is(204)

	b.get("/v1/nodes/n1/history").fails(404)
	b.get("/v1/nodes/" + uuid + "/history").fails(404)
	for _, ident := range []string{uuid, "n1"} {
		events := b.get("/temper/v1/nodes/" + ident + "/history").is(200)["history"].([]any)
		last := events[len(events)-1].(map[string]any)
		require.Equal(t, "deleted in manageable", last["event"])
		require.Equal(t, "ann", last["user"])
		require.Equal(t, uuid, last["node_uuid"])
		require.NotNil(t, last["node_deleted_at"])
		require.Contains(t, string(b.last.raw), "it smokes")
		ops := b.get("/temper/v1/operations?node=" + ident).is(200)["operations"].([]any)
		require.Equal(t, id, ops[0].(map[string]any)["id"])
	}
	nodes := b.get("/temper/v1/nodes/deleted?node=n1").is(200)["nodes"].([]any)
	require.Len(t, nodes, 1)
	require.Equal(t, "ann", nodes[0].(map[string]any)["deleted_by"])

	// Enrolled again, with the same name and uuid.
	b.post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n1", "uuid": uuid}).is(201)
	require.Len(t, b.get("/v1/nodes/n1/history").is(200)["history"], 1)
	require.Empty(t, b.get("/temper/v1/operations?node=n1").is(200)["operations"])
	require.Len(t, b.get("/temper/v1/operations?deleted=true&node=n1").is(200)["operations"], 1)
	all := b.get("/temper/v1/nodes/n1/history").is(200)["history"].([]any)
	require.Nil(t, all[len(all)-1].(map[string]any)["node_deleted_at"])
	var paged []any
	for path := "/temper/v1/nodes/n1/history?limit=2"; path != ""; {
		body := b.get(path).is(200)
		paged = append(paged, body["history"].([]any)...)
		path, _ = body["next"].(string)
		if len(path) > 0 {
			path = path[len("http://temper.test:6385"):]
		}
	}
	require.Equal(t, all, paged)
	b.post("/temper/v1/operations/"+id+"/retry", nil).fails(400)

	b.get("/temper/v1/nodes/deleted?limit=1").is(200)
	b.get("/temper/v1/nodes/deleted?marker=x").fails(400)
	b.get("/temper/v1/nodes/deleted?node=a%20b").fails(400)
	b.get("/temper/v1/nodes/nobody/history").fails(404)
	b.get("/temper/v1/nodes/n1/history?marker=x").fails(400)
}
