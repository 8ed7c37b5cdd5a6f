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
	require.ErrorContains(t, api.CheckRoutes("/temper/v1/things/:thing", access.NodeGet), "Subjects does not say who owns a thing")
	require.ErrorContains(t, api.CheckRoutes("/temper/v1/things/:thing", access.FleetGet, access.NodeGet), "Subjects does not say who owns a thing")
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

// Rights that a detour must not give: each line was a hole.
func TestDetoursGiveNoRights(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, apitest.WithIdentities).WithConductors()
	admin := b.As("root", access.Admin, "")
	n := admin.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "n", "owner": "p", "lessee": "q"}).Is(201)["uuid"].(string)
	theirs := admin.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "theirs", "owner": "z"}).Is(201)["uuid"].(string)
	admin.Post("/v1/portgroups", map[string]any{"node_uuid": theirs, "name": "bond"}).Is(201)
	operator, tenant := b.As("olga", access.Member, "p"), b.As("tom", access.Manager, "q")

	for _, kind := range []string{"vendor_passthru", "bmc_password", "boot_device"} {
		b.SQL(`INSERT INTO operations (node_id, node_uuid, kind, phase, outcome, ended_at, origin, conductor_group, driver, requested_by, error, cause)
			SELECT id, uuid, $2, 'ended', 'failed', now(), 'enroll', '', driver, 'root', 'no answer of 10.1.1.1', 'bmc_silent' FROM nodes WHERE uuid = $1`, n, kind)
		id := b.Text(`SELECT max(id)::text FROM operations`)
		require.Contains(t, operator.Post("/temper/v1/operations/"+id+"/retry", nil).Fails(403), "Access was denied", kind)
	}
	for _, no := range []any{false, "false", "no", "0"} {
		require.Contains(t, operator.Patch("/v1/nodes/n", apitest.Add("/automated_clean", no)).Fails(403), "baremetal:node:disable_cleaning", "%v", no)
	}
	require.Contains(t, tenant.Get("/temper/v1/operations?node=theirs").Fails(404), "Node theirs could not be found.")
	require.Contains(t, tenant.Get("/temper/v1/operations?node=nobodys").Fails(404), "Node nobodys could not be found.")
	require.Equal(t, tenant.Get("/v1/ports?portgroup=none").Status, tenant.Get("/v1/ports?portgroup=bond").Status)
	require.Contains(t, tenant.Get("/temper/v1/operations?conductor=c1").Fails(400), "conductor")
	for _, o := range tenant.Get("/temper/v1/operations?node=n").Is(200)["operations"].([]any) {
		require.NotContains(t, fmt.Sprint(o), "10.1.1.1")
	}
	require.Contains(t, fmt.Sprint(b.As("oscar", access.Reader, "p").Get("/temper/v1/operations?node=n").Is(200)), "10.1.1.1")
	require.Contains(t, operator.Post("/v1/allocations", map[string]any{"node": "n", "owner": "q", "resource_class": "x"}).Fails(403), "baremetal:allocation:create")
}
