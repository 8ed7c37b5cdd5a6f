package api_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/testenv"
)

func codes() (out []fault.Code) {
	for _, row := range fault.Codes {
		out = append(out, row.Code)
	}
	return out
}

func TestTheContractHasTheTableOfCodes(t *testing.T) {
	t.Parallel()
	doc, err := apitest.Contract()
	require.NoError(t, err)
	schema := doc.Components.Schemas["Code"].Value
	var described []fault.Code
	for _, one := range schema.Enum {
		described = append(described, fault.Code(one.(string)))
	}
	require.Equal(t, codes(), described)
	var causes []fault.Code
	for _, one := range doc.Components.Schemas["Cause"].Value.Enum {
		causes = append(causes, fault.Code(one.(string)))
	}
	require.Equal(t, fault.Causes(), causes)
	for _, row := range fault.Codes {
		require.Contains(t, schema.Description, "- `"+string(row.Code)+"`: "+row.Meaning+"\n")
	}
}

// Every route gets requests of the kinds that any route may refuse. Each refusal has a code
// of the table.
func TestEveryRouteRefusesWithACode(t *testing.T) {
	t.Parallel()
	bare, err := api.New(api.Config{Store: stubStore{}, Operations: &apitest.Operations{}, Drivers: apitest.Drivers{}})
	require.NoError(t, err)
	b := apitest.New(t)
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	closed := apitest.New(t, func(c *api.Config) { c.Auth = api.Auth{Strategy: api.HTTPBasic, File: file} })
	values := strings.NewReplacer(":node", "nosuch", ":port", "nosuch", ":driver", "nosuch", ":conductor", "nosuch", ":allocation", "nosuch",
		":operation", "4711", ":event", "nosuch", ":host", "nosuch", ":trait", "nosuch", ":vif", "nosuch", ":instance", "nosuch", ":webhook", "nosuch")
	for _, route := range bare.Routes() {
		method, path := route[0], values.Replace(route[1])
		refused := 0
		see := func(a *apitest.Answer) {
			t.Helper()
			if a.Status >= 400 {
				a.Refused(a.Status)
				refused++
			}
		}
		for _, body := range []any{nil, "{", "[]", map[string]any{"unknown": true}} {
			see(b.At(apitest.Newest, method, path+"?unknown=1", body))
		}
		if path == "/temper/v1/events" {
			path += "?kind=nosuch" // what it accepts does not end by itself
		}
		see(b.At(1, method, path, nil))
		see(b.At(9999, method, path, nil))
		see(b.At(apitest.Newest, "TRACE", path, nil))
		see(closed.At(apitest.Newest, method, path, nil))
		see(b.With(http.Header{"Origin": {"http://elsewhere.test"}, "Sec-Fetch-Site": {"cross-site"}}, method, path, nil))
		require.Positive(t, refused, "%s %s refuses nothing", method, path)
	}
	require.Equal(t, fault.ResourceNotFound, b.Get("/v1/nosuch").Refused(404).Code)
}

func TestHelpNamesWhatWouldWork(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	ask := func(name, target string, status int) apitest.Refusal {
		t.Helper()
		a := b.Put("/v1/nodes/"+name+"/states/provision", map[string]any{"target": target})
		require.NotContains(t, a.Fails(status), "temper", "the words are Ironic's alone")
		return a.Refused(status)
	}
	b.In("busy", node.Deploying)
	got := ask("busy", "manage", 409)
	require.Equal(t, fault.NodeLocked, got.Code)
	require.Equal(t, []string{"temper node why busy says what happens to it", "temper operation cancel 1 ends it"}, got.Commands())
	require.Equal(t, "POST", got.Help[1].Method)
	b.Post(got.Help[1].Path, map[string]any{}).Is(202)
	require.Equal(t, []string{"temper node why busy says what happens to it"}, ask("busy", "manage", 409).Commands(), "it is being ended")

	b.In("held", node.DeployHold)
	b.SQL(`UPDATE operations SET phase = 'holding', steps = jsonb_set(steps, '{1,state}', '"failed"') WHERE node_name = 'held'`)
	id := b.Text(`SELECT id::text FROM operations WHERE node_name = 'held'`)
	got = ask("held", "manage", 400)
	require.Equal(t, []string{
		"temper node why held says what happens to it", "temper operation retry " + id + " runs the failed step again", "temper operation abort " + id + " ends it",
	}, got.Commands())

	b.In("failing", node.Deploying)
	b.SQL(`UPDATE operations SET phase = 'undoing' WHERE node_name = 'failing'`)
	id = b.Text(`SELECT id::text FROM operations WHERE node_name = 'failing'`)
	require.Equal(t, []string{
		"temper node why failing says what happens to it", "temper operation watch " + id + " shows how the undo goes on: ask again when it has ended",
	}, ask("failing", "manage", 409).Commands(), "nobody should end an undo")

	b.Enrolled("new")
	got = ask("new", "active", 400)
	require.Equal(t, fault.StateNotAllowed, got.Code)
	require.Equal(t, []string{"temper node manage new first makes it manageable", "temper node provide new then makes it available"}, got.Commands())

	b.In("used", node.Active)
	got = ask("used", "active", 400)
	require.Equal(t, fault.AlreadyInState, got.Code)
	require.Empty(t, got.Help)
	got = ask("used", "clean", 400)
	require.Equal(t, fault.StateNotAllowed, got.Code)
	require.Empty(t, got.Help, "no verb leads there without harm")
	require.Empty(t, ask("used", "explode", 400).Help)

	b.SQL(`UPDATE nodes SET protected = true WHERE name = 'used'`)
	got = ask("used", "deleted", 403)
	require.Equal(t, fault.NodeProtected, got.Code)
	require.Equal(t, []string{"temper node set used --protected=false lifts that"}, got.Commands())
	require.Equal(t, fault.NodeNotFound, ask("nosuch", "manage", 404).Code)
}

// Every request that help names is one of the API's: the bench checks each against the contract.
func TestEveryActionIsARequestOfTheContract(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.Post("/temper/v1/webhooks", map[string]any{"name": "chat", "url": "https://example.org/hook", "secret": "whsec_" + strings.Repeat("a", 32)}).Is(201)
	b.SQL(`INSERT INTO node_inventory (node_id, inventory) SELECT id, '{}' FROM nodes`) // without one there is nothing to compare
	n := &node.Node{UUID: b.Text(`SELECT uuid::text FROM nodes`), Name: "n1"}
	for _, name := range testenv.Constants(t, "../internal/fault/do.go", "Do") {
		do := fault.Do(name)
		a := help.Action{Do: do, Operation: 4711, Group: "rack", Conductor: "gone", Webhook: "chat", Reason: node.ReasonLate, Cause: fault.BMCSilent}
		switch do {
		case fault.Decide:
			a.Decision = node.ActionRetry
		case fault.ChangeState:
			a.Event = node.EventInspect
		case fault.DeployImage, fault.DeployToDisk:
			a.Event = node.EventDeploy
		}
		item := help.Of(n, a)
		if do == fault.ProbeBMC || do == fault.StartConductor || do == fault.StartOrchestrator {
			require.Empty(t, item.Method+item.Path, "%s is done without the API", do)
			continue
		}
		got := b.At(apitest.Newest, item.Method, item.Path, item.Body)
		if got.Status >= 400 { // it would be accepted for a node in another state
			require.NotContains(t, []fault.Code{fault.InvalidRequest, fault.ResourceNotFound, fault.MethodNotAllowed}, got.Refused(got.Status).Code, "%s: %s", do, got.Body)
		}
	}
}
