package temper_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

// deletedByAnn returns an API from which ann has deleted node n1, and the uuid of
// that node and the id of its operation.
func deletedByAnn(t *testing.T) (b *apitest.Bench, uuid, operation string) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("x"), bcrypt.MinCost)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, []byte("ann:"+string(hash)+"\n"), 0o600))
	b = apitest.New(t, func(c *api.Config) { c.Auth = api.Auth{Strategy: api.HTTPBasic, File: file} }).WithConductors()
	b.User = "ann:x"
	uuid = b.In("n1", node.Manageable)
	b.Put("/v1/nodes/n1/maintenance", map[string]any{"reason": "it smokes"}).Is(202)
	operation = b.Put("/v1/nodes/n1/states/power", apitest.ProvisionBody("power on")).Header.Get("Temper-Operation")
	b.SQL(`UPDATE operations SET phase = 'ended', outcome = 'failed', ended_at = now()`)
	b.Delete("/v1/nodes/n1").Is(204)
	return b, uuid, operation
}

func TestTheHistoryOfADeletedNodeCanBeRead(t *testing.T) {
	t.Parallel()
	b, uuid, id := deletedByAnn(t)
	b.Get("/v1/nodes/n1/history").Fails(404)
	b.Get("/v1/nodes/" + uuid + "/history").Fails(404)
	for _, ident := range []string{uuid, "n1"} {
		events := b.Get("/temper/v1/nodes/" + ident + "/history").Is(200)["history"].([]any)
		last := events[len(events)-1].(map[string]any)
		require.Equal(t, "deleted in manageable", last["event"])
		require.Equal(t, "ann", last["user"])
		require.Equal(t, uuid, last["node_uuid"])
		require.NotNil(t, last["node_deleted_at"])
		require.Contains(t, string(b.Last.Body), "it smokes")
		ops := b.Get("/temper/v1/operations?node=" + ident).Is(200)["operations"].([]any)
		require.Equal(t, id, ops[0].(map[string]any)["id"])
	}

	// The node is enrolled again with the same name and uuid.
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n1", "uuid": uuid}).Is(201)
	require.Len(t, b.Get("/v1/nodes/n1/history").Is(200)["history"], 1)
	require.Empty(t, b.Get("/temper/v1/operations?node=n1").Is(200)["operations"])
	require.Len(t, b.Get("/temper/v1/operations?deleted=true&node=n1").Is(200)["operations"], 1)
	all := b.Get("/temper/v1/nodes/n1/history").Is(200)["history"].([]any)
	require.Nil(t, all[len(all)-1].(map[string]any)["node_deleted_at"])
	var paged []any
	for path := "/temper/v1/nodes/n1/history?limit=2"; path != ""; {
		body := b.Get(path).Is(200)
		paged = append(paged, body["history"].([]any)...)
		path, _ = body["next"].(string)
		if len(path) > 0 {
			path = path[len("http://temper.test:6385"):]
		}
	}
	require.Equal(t, all, paged)
	b.Post("/temper/v1/operations/"+id+"/retry", nil).Fails(400)

	b.Get("/temper/v1/nodes/nobody/history").Fails(404)
	b.Get("/temper/v1/nodes/n1/history?marker=x").Fails(400)
}
