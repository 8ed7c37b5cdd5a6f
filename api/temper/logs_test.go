package temper_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestTheLogsOfANodeAreShownNewestFirst(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	answer := b.Get("/temper/v1/nodes/n1/logs").Is(200)
	require.Equal(t, map[string]any{"node_uuid": uuid, "logs": []any{}}, answer)
	for _, step := range []string{"deploy.prepare", "deploy.write_image"} {
		_, err := b.Store.SaveLog(t.Context(), uuid, node.Log{Operation: 7, Kind: node.AgentLog, Step: step, Conductor: "c1", Content: "of " + step})
		require.NoError(t, err)
	}
	var shown []any
	for _, l := range b.Get("/temper/v1/nodes/" + uuid + "/logs").Is(200)["logs"].([]any) {
		shown = append(shown, l.(map[string]any)["content"])
	}
	require.Equal(t, []any{"of deploy.write_image", "of deploy.prepare"}, shown)
	b.Get("/temper/v1/nodes/none/logs").Fails(404)
	b.Get("/temper/v1/nodes/n1/logs?limit=1").Fails(400)
}
