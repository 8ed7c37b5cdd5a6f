package temper_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeletedNodesAreListed(t *testing.T) {
	t.Parallel()
	b, uuid, _ := deletedByAnn(t)
	for _, ident := range []string{"n1", uuid} {
		nodes := b.Get("/temper/v1/nodes/deleted?node=" + ident).Is(200)["nodes"].([]any)
		require.Len(t, nodes, 1)
		n := nodes[0].(map[string]any)
		require.Equal(t, []any{uuid, "n1", "manageable", "ann"}, []any{n["uuid"], n["name"], n["provision_state"], n["deleted_by"]})
		require.NotNil(t, n["deleted_at"])
	}
	b.Enrolled("n2")
	b.Delete("/v1/nodes/n2").Is(204)
	var names []any
	for path := "/temper/v1/nodes/deleted?limit=1"; path != ""; {
		body := b.Get(path).Is(200)
		require.LessOrEqual(t, len(body["nodes"].([]any)), 1)
		for _, n := range body["nodes"].([]any) {
			names = append(names, n.(map[string]any)["name"])
		}
		next, _ := body["next"].(string)
		path = strings.TrimPrefix(next, "http://temper.test:6385")
	}
	require.Equal(t, []any{"n2", "n1"}, names, "newest first")
	b.Get("/temper/v1/nodes/deleted?marker=x").Fails(400)
	b.Get("/temper/v1/nodes/deleted?node=a%20b").Fails(400)
}
