package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestChildren(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	parent := b.Enrolled("server")
	require.Equal(t, []any{}, b.Get("/v1/nodes/server/children").Is(200)["children"])
	var want []any
	for _, name := range []string{"dpu1", "dpu2"} {
		want = append(want, b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": name, "parent_node": parent}).Is(201)["uuid"])
	}
	require.Equal(t, want, b.Get("/v1/nodes/server/children").Is(200)["children"])
	require.Equal(t, want, b.Get("/v1/nodes/" + parent + "/children").Is(200)["children"])
	require.Len(t, b.Get("/v1/nodes?parent_node=" + parent).Is(200)["nodes"], 2)
	require.Len(t, b.Get("/v1/nodes").Is(200)["nodes"], 1, "children are hidden in a list of nodes")
	require.Len(t, b.Get("/v1/nodes?include_children=true").Is(200)["nodes"], 3)
	b.Get("/v1/nodes/nosuch/children").Fails(404)
	b.At(82, "GET", "/v1/nodes/server/children", nil).Fails(404)
}
