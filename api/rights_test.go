package api_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

//go:generate go test -run ^TestTheRightsOfEachRoute$ . -update
var update = flag.Bool("update", false, "write the golden files anew")

// relations are how somebody's project is related to what a request is about.
var relations = []struct {
	name    string
	project string
	of      node.Owners
}{
	{"system", "", node.Owners{Owner: "p"}},
	{"owner", "p", node.Owners{Owner: "p"}},
	{"lessee", "p", node.Owners{Owner: "q", Lessee: "p"}},
	{"other", "p", node.Owners{Owner: "q", Lessee: "r"}},
}

// TestTheRightsOfEachRoute writes down who may use which route: a change of a rule shows in the file, with all the routes that it changes.
func TestTheRightsOfEachRoute(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	var lines []string
	for _, r := range b.Server.RouteRules() {
		if len(r.Rules) == 0 {
			lines = append(lines, fmt.Sprintf("%-6s %s\n    everybody, without a login", r.Method, r.Path))
			continue
		}
		var names []string
		for _, rule := range r.Rules {
			names = append(names, rule.Name)
		}
		line := fmt.Sprintf("%-6s %s\n    %s", r.Method, r.Path, strings.Join(names, " or "))
		for _, rel := range relations {
			var may []string
			for _, role := range access.Roles() {
				id := &access.Identity{Grants: []access.Grant{{Role: role, Project: rel.project}}}
				if slices.ContainsFunc(r.Rules, func(rule *access.Rule) bool { return rule.Allows(id, rel.of) }) {
					may = append(may, string(role))
				}
			}
			if may == nil {
				may = []string{"nobody"}
			}
			line += fmt.Sprintf("\n    %-7s %s", rel.name+":", strings.Join(may, ", "))
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	path := filepath.Join("testdata", "rights.txt")
	text := strings.Join(lines, "\n") + "\n"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "go generate ./api")
}

func TestARouteWithoutARuleDoesNotStart(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, api.CheckRoutes("/temper/v1/new", nil), "the route GET /temper/v1/new has no rule")
	require.ErrorContains(t, api.CheckRoutes("/temper/v1/things/:thing", access.NodeGet), "nobody knows whose thing it is")
	require.NoError(t, api.CheckRoutes("/temper/v1/new", access.FleetGet))
}

// Who has no role learns how to get one. Who has one learns which rule was missing. What a project does not see is answered as what is not
// there.
func TestWhatIsDeniedSaysWhy(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, apitest.WithIdentities).WithConductors()
	admin := b.As("root", access.Admin, "")
	admin.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "theirs", "owner": "q"}).Is(201)
	require.Contains(t, b.Get("/v1/nodes").Is(401)["error"], "message")
	require.Contains(t, b.As("eve", "gardener", "").Get("/v1/nodes").Fails(403), "Access was denied to the following resource: baremetal:node:list.")
	reader := b.As("carol", access.Reader, "p")
	require.Contains(t, reader.Get("/v1/conductors").Fails(403), "baremetal:conductor:get")
	require.Contains(t, reader.Delete("/v1/nodes/theirs").Fails(404), "Node theirs could not be found.")
	require.Contains(t, reader.Delete("/v1/nodes/nobodys").Fails(404), "Node nobodys could not be found.")
	require.Equal(t, 204, admin.Delete("/v1/nodes/theirs").Status)
}
