package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func readyFunc(err *error) func(context.Context) error {
	return func(context.Context) error { return *err }
}

func (b *bench) now() time.Time { return time.Now() }

// Bodies that are no JSON, too deep, too large or of the wrong shape are
// refused wherever a body is taken, and change nothing.
func TestHostileBodies(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.in("n1", node.Manageable)
	b.post("/v1/ports", map[string]any{"node_uuid": uuid, "address": mac, "name": "eth0"}).is(201)
	b.inspecting("n2")
	before := string(b.get("/v1/nodes/n1").raw)
	deep := strings.Repeat(`{"a":`, 30) + "1" + strings.Repeat("}", 30)
	targets := []struct {
		method, path string
		limit        int
	}{
		{"POST", "/v1/nodes", 1 << 20},
		{"PATCH", "/v1/nodes/n1", 1 << 20},
		{"PUT", "/v1/nodes/n1/states/power", 1 << 20},
		{"PUT", "/v1/nodes/n1/states/provision", 64 << 20},
		{"PUT", "/v1/nodes/n1/maintenance", 1 << 20},
		{"PUT", "/v1/nodes/n1/traits", 1 << 20},
		{"POST", "/v1/ports", 1 << 20},
		{"PATCH", "/v1/ports/eth0", 1 << 20},
		{"POST", "/v1/heartbeat/n1", 1 << 20},
		{"POST", "/v1/continue_inspection", 16 << 20},
	}
	for _, at := range targets {
		for name, body := range map[string]string{
			"broken JSON": `{"a":`, "two documents": `{} {}`, "a bare word": `hello`, "a number": `3`, "a string": `"x"`,
			"nested too deep": deep, "an unknown field": `{"colour":"red"}`, "invalid UTF-8": "{\"target\":\"\xff\xfe\"}", "a NUL": `{"target":"\u0000"}`,
		} {
			a := b.at(newest, at.method, at.path, body)
			require.Equal(t, 400, a.status, "%s %s: %s: %s", at.method, at.path, name, a.raw)
			a.fails(400)
		}
		large := `{"reason":"` + strings.Repeat("x", at.limit) + `"}`
		b.at(newest, at.method, at.path, large).fails(413)
	}
	require.Equal(t, before, string(b.get("/v1/nodes/n1").raw))
}

func TestHostilePaths(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	for _, ident := range []string{"%00", "a%20b", "%2e%2e%2f", "'%3b--", "%ff%fe", strings.Repeat("a", 300), "{1be26c0b-03f2-4d2e-ae87-c02d7f33c123}", "$(id)", "%F0%9F%92%A9"} {
		for _, path := range []string{"/v1/nodes/%s", "/v1/nodes/%s/states", "/v1/ports/%s", "/v1/drivers/%s", "/v1/conductors/%s", "/v1/nodes/%s/traits", "/temper/v1/operations/%s", "/v1/nodes/n1/history/%s"} {
			a := b.get(fmt.Sprintf(path, ident))
			require.Contains(t, []int{400, 404}, a.status, "%s: %s", a.what, a.raw)
			a.fails(a.status)
		}
	}
}

func TestHostileSteps(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Manageable)
	step := func(over map[string]any) map[string]any {
		s := map[string]any{"interface": "deploy", "step": "erase_devices"}
		for k, v := range over {
			s[k] = v
		}
		return map[string]any{"target": "clean", "clean_steps": []any{s}}
	}
	many := make([]any, 300)
	for i := range many {
		many[i] = map[string]any{"interface": "deploy", "step": "erase_devices"}
	}
	for name, body := range map[string]map[string]any{
		"no list":               {"target": "clean", "clean_steps": "all"},
		"an empty list":         {"target": "clean", "clean_steps": []any{}},
		"nothing":               {"target": "clean"},
		"a step that is a word": {"target": "clean", "clean_steps": []any{"erase"}},
		"too many":              {"target": "clean", "clean_steps": many},
		"an unknown interface":  step(map[string]any{"interface": "nose"}),
		"an unknown step":       step(map[string]any{"step": "rm -rf /"}),
		"no step":               step(map[string]any{"step": nil}),
		"an unknown key":        step(map[string]any{"colour": "red"}),
		"args that are a list":  step(map[string]any{"args": []any{1}}),
		"unexpected args":       step(map[string]any{"args": map[string]any{"x": 1}}),
		"a long name":           step(map[string]any{"step": strings.Repeat("x", 5000)}),
	} {
		words := b.put("/v1/nodes/n1/states/provision", body).fails(400)
		require.Less(t, len(words), 1000, name)
	}
	require.Equal(t, "manageable", b.field("n1", "provision_state"))
	b.put("/v1/nodes/n1/states/provision", step(nil)).is(202)
}

func TestSecretsOfSteps(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Manageable)
	body := map[string]any{"target": "clean", "clean_steps": []any{map[string]any{
		"interface": "bios", "step": "apply_configuration",
		"args": map[string]any{"settings": []any{map[string]any{"name": "AdminPassword", "value": "hunter2"}}},
	}}}
	id := b.put("/v1/nodes/n1/states/provision", body).header.Get("Temper-Operation")
	require.NotEmpty(t, id, string(b.last.raw))
	for _, path := range []string{"/v1/nodes/n1", "/temper/v1/operations/" + id, "/v1/nodes/n1/history?detail=true"} {
		require.NotContains(t, string(b.get(path).raw), "hunter2", path)
	}
	secrets, err := b.credentials(b.field("n1", "uuid").(string))
	require.NoError(t, err)
	raw, err := json.Marshal(secrets)
	require.NoError(t, err)
	require.Contains(t, string(raw), "hunter2", "whoever runs the step finds it")
}
