package temper_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestSchedulersAreOfferedWhatCanBeServed(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	i := b.Conductor("c1", "", "fake-hardware")
	for _, n := range []string{"n1", "n2"} {
		b.In(n, "available")
	}
	b.SQL(`UPDATE nodes SET power_state = 'power off', resource_class = 'gold', traits = '{CUSTOM_A}'`)
	b.Put("/v1/nodes/n2/maintenance", map[string]any{}).Is(202)
	body := b.Get("/temper/v1/nodes/available?resource_class=gold&conductor_group=&limit=2").Is(200)
	nodes := body["nodes"].([]any)
	require.Len(t, nodes, 2)
	require.Equal(t, []any{}, nodes[0].(map[string]any)["requires"])
	require.Equal(t, []any{"CUSTOM_MAINTENANCE"}, nodes[1].(map[string]any)["requires"])
	require.Equal(t, "gold", nodes[0].(map[string]any)["resource_class"])
	next, err := url.Parse(body["next"].(string))
	require.NoError(t, err)
	require.Equal(t, "gold", next.Query().Get("resource_class"))
	require.Empty(t, b.Get(next.RequestURI()).Is(200)["nodes"])
	require.Len(t, b.Get("/temper/v1/nodes/available?traits=CUSTOM_A").Is(200)["nodes"], 1)
	require.Len(t, b.Get("/temper/v1/nodes/available?traits=CUSTOM_A,CUSTOM_MAINTENANCE").Is(200)["nodes"], 1)
	b.Get("/temper/v1/nodes/available?traits=nonsense").Fails(400)
	b.Get("/temper/v1/nodes/available?sort_key=name").Fails(400)
	b.Get("/temper/v1/nodes/available?marker=n1").Fails(400)

	require.NoError(t, b.Store.DrainConductor(t.Context(), "c1", i))
	require.Empty(t, b.Get("/temper/v1/nodes/available").Is(200)["nodes"], "at once")
}
