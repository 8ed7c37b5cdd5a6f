package ironic_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestInstanceNameAndDisplayNameAreOne(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	names := func(ident string) []any {
		n := b.Get("/v1/nodes/" + ident).Is(200)
		return []any{n["instance_name"], n["instance_info"].(map[string]any)["display_name"]}
	}
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n1", "instance_name": "vm-1"}).Is(201)
	require.Equal(t, []any{"vm-1", "vm-1"}, names("n1"))
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n2", "instance_info": map[string]any{"display_name": "vm-2"}}).Is(201)
	require.Equal(t, []any{"vm-2", "vm-2"}, names("n2"))
	for _, c := range []struct {
		what string
		ops  []apitest.Op
		want []any
	}{
		{"a new display_name, as Nova sets it", []apitest.Op{apitest.Replace("/instance_info/display_name", "vm-3")}, []any{"vm-3", "vm-3"}},
		{"a new instance_name", []apitest.Op{apitest.Replace("/instance_name", "vm-4")}, []any{"vm-4", "vm-4"}},
		{"both: instance_name wins", []apitest.Op{apitest.Replace("/instance_name", "vm-5"), apitest.Replace("/instance_info/display_name", "vm-6")}, []any{"vm-5", "vm-5"}},
		{"another field", []apitest.Op{apitest.Add("/extra/a", 1)}, []any{"vm-5", "vm-5"}},
		{"no instance_name", []apitest.Op{apitest.Remove("/instance_name")}, []any{nil, nil}},
		{"a display_name that is too long", []apitest.Op{apitest.Add("/instance_info/display_name", strings.Repeat("x", 256))}, []any{nil, strings.Repeat("x", 256)}},
		{"no instance_info", []apitest.Op{apitest.Replace("/instance_name", "vm-7"), apitest.Remove("/instance_info")}, []any{"vm-7", "vm-7"}},
	} {
		b.Patch("/v1/nodes/n1", c.ops...).Is(200)
		require.Equal(t, c.want, names("n1"), c.what)
	}
	require.Len(t, b.Get("/v1/nodes?instance_name=vm-7").Is(200)["nodes"], 1)
	require.Empty(t, b.Get("/v1/nodes?instance_name=vm").Is(200)["nodes"])

	b.In("n3", node.Available)
	b.Post("/temper/v1/nodes/n3/operations", map[string]any{
		"verb": "active", "instance_info": map[string]any{"display_name": "vm-8", "image_source": "http://images/a.img", "image_checksum": strings.Repeat("a", 64)},
	}).Is(202)
	require.Equal(t, []any{"vm-8", "vm-8"}, names("n3"), "of a deploy")
	require.Contains(t, b.Patch("/v1/nodes/n3", apitest.Replace("/instance_name", "x")).Fails(409), "while a state transition is in progress")
}

func TestNodesShowTheirHealth(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	want := map[string]any{"unread": nil, "silent": nil, "well": "OK", "warned": "Warning", "ill": "Critical"}
	for name, status := range map[string]string{"unread": "", "silent": "unknown", "well": "ok", "warned": "warning", "ill": "critical"} {
		id := b.Enrolled(name)
		if status != "" {
			b.SQL(`INSERT INTO node_health (node_id, status, since, read_at) SELECT id, $2, now(), now() FROM nodes WHERE uuid = $1`, id, status)
		}
	}
	for name, health := range want {
		require.Equal(t, health, b.Get("/v1/nodes/" + name).Is(200)["health"], name)
		require.Equal(t, health, b.Patch("/v1/nodes/"+name, apitest.Add("/extra/a", 1)).Is(200)["health"], name)
	}
	got := map[string]any{}
	var order []any
	for _, n := range b.Get("/v1/nodes?fields=name,health&sort_key=health").Is(200)["nodes"].([]any) {
		got[n.(map[string]any)["name"].(string)] = n.(map[string]any)["health"]
		order = append(order, n.(map[string]any)["health"])
	}
	require.Equal(t, want, got)
	require.Equal(t, "ill", b.Get("/v1/nodes?health=Critical&fields=name").Is(200)["nodes"].([]any)[0].(map[string]any)["name"])
	require.Len(t, b.Get("/v1/nodes?health=OK").Is(200)["nodes"], 1)
	require.Contains(t, b.Get("/v1/nodes?health=fine").Fails(400), "allowed are OK, Warning and Critical")
	page := b.Get("/v1/nodes?fields=name,health&sort_key=health&limit=2").Is(200)
	require.Len(t, page["nodes"], 2)
	rest := b.Get(strings.TrimPrefix(page["next"].(string), "http://temper.test:6385")).Is(200)["nodes"].([]any)
	require.Equal(t, order[2], rest[0].(map[string]any)["health"])
}

func TestKeysWithTildeAndSlash(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.At(97, "PATCH", "/v1/nodes/n1", []apitest.Op{apitest.Add("/extra/a~1b", 1)}).Fails(400)
	n := b.At(98, "PATCH", "/v1/nodes/n1", []apitest.Op{apitest.Add("/extra/a~1b", 1), apitest.Add("/extra/c~0d", 2)}).Is(200)
	require.Equal(t, map[string]any{"a/b": 1.0, "c~d": 2.0}, n["extra"])
	require.Equal(t, map[string]any{"c~d": 2.0}, b.Patch("/v1/nodes/n1", apitest.Remove("/extra/a~1b")).Is(200)["extra"])
	for _, path := range []string{"/extra/a~2", "/extra/a~", "/extra/a.b", "/ex~1tra/a"} {
		b.Patch("/v1/nodes/n1", apitest.Add(path, 1)).Fails(400)
	}
}
