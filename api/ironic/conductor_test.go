package ironic_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestConductors(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	old := b.Conductor("c3", "far", "redfish")
	all := b.Get("/v1/conductors").Is(200)["conductors"].([]any)
	require.Len(t, all, 3)
	require.ElementsMatch(t, []string{"hostname", "conductor_group", "alive", "links"}, slices.Collect(maps.Keys(all[0].(map[string]any))))
	require.NoError(t, b.Store.StopConductor(t.Context(), "c3", old))
	c3 := b.Get("/v1/conductors/c3").Is(200)
	require.Equal(t, []any{false, "far", []any{"redfish"}}, []any{c3["alive"], c3["conductor_group"], c3["drivers"]})
	require.Equal(t, "Conductor c9 could not be found.", b.Get("/v1/conductors/c9").Fails(404))
	page := b.Get("/v1/conductors?limit=2&sort_key=hostname&sort_dir=desc").Is(200)
	require.Len(t, page["conductors"], 2)
	next := b.Get(strings.TrimPrefix(page["next"].(string), "http://temper.test:6385")).Is(200)
	require.Equal(t, "c1", next["conductors"].([]any)[0].(map[string]any)["hostname"])
	b.Get("/v1/conductors?marker=c9").Fails(404)
	b.Get("/v1/conductors?fields=odd").Fails(400)
	b.Get("/v1/conductors?sort_key=alive").Fails(400)
	b.Conductor("a-late-one", "", "redfish")
	hosts := func(query string) (out []any) {
		for _, k := range b.Get("/v1/conductors" + query).Is(200)["conductors"].([]any) {
			out = append(out, k.(map[string]any)["hostname"])
		}
		return out
	}
	require.Equal(t, []any{"a-late-one", "c1", "c2", "c3"}, hosts(""), "by name, unless asked otherwise")
	require.Equal(t, []any{"c3", "c2", "c1", "a-late-one"}, hosts("?sort_dir=desc"))
	require.Equal(t, []any{"c1", "c2"}, hosts("?marker=a-late-one&limit=2"))
	require.Equal(t, []any{"c1", "c2", "c3", "a-late-one"}, hosts("?sort_key=id"))
}
