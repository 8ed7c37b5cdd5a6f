package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

// Every route with a body refuses bodies that are no JSON, too deep, too large or of the
// wrong shape, and changes nothing.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.In("n1", node.Manageable)
	b.Post("/v1/ports", map[string]any{"node_uuid": uuid, "address": apitest.MAC, "name": "eth0"}).Is(201)
	b.Inspecting("n2")
	before := string(b.Get("/v1/nodes/n1").Body)
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
			a := b.At(apitest.Newest, at.method, at.path, body)
			require.Equal(t, 400, a.Status, "%s %s: %s: %s", at.method, at.path, name, a.Body)
			a.Fails(400)
		}
		large := `{"reason":"` + strings.Repeat("x", at.limit) + `"}`
		b.At(apitest.Newest, at.method, at.path, large).Fails(413)
	}
	require.Equal(t, before, string(b.Get("/v1/nodes/n1").Body))
}

func TestHostilePaths(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	for _, ident := range []string{"%00", "a%20b", "%2e%2e%2f", "'%3b--", "%ff%fe", strings.Repeat("a", 300), "{1be26c0b-03f2-4d2e-ae87-c02d7f33c123}", "$(id)", "%F0%9F%92%A9"} {
		for _, path := range []string{"/v1/nodes/%s", "/v1/nodes/%s/states", "/v1/ports/%s", "/v1/drivers/%s", "/v1/conductors/%s", "/v1/nodes/%s/traits", "/temper/v1/operations/%s", "/v1/nodes/n1/history/%s"} {
			a := b.Get(fmt.Sprintf(path, ident))
			require.Contains(t, []int{400, 404}, a.Status, "%s: %s", a, a.Body)
			a.Fails(a.Status)
		}
	}
}
