package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
)

// refusal is what programs read of an error.
type refusal struct {
	Code fault.Code
	Help []struct{ Command, Effect, Method, Path string }
}

// refused asserts an error with a code of the table, and gives what programs
// read of it.
func (a *answer) refused(status int) refusal {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s: %s", a.what, a.raw)
	var out refusal
	require.NoError(a.t, json.Unmarshal(a.raw, &out), "%s: %s", a.what, a.raw)
	require.NotEmpty(a.t, out.Code.Meaning())
	require.Contains(a.t, codes(), out.Code, a.what)
	require.NotNil(a.t, out.Help, "%s: %s", a.what, a.raw)
	return out
}

func codes() (out []fault.Code) {
	for _, row := range fault.Codes {
		out = append(out, row.Code)
	}
	return out
}

// commands are the commands of the help, with what they do.
func (r refusal) commands() (out []string) {
	for _, h := range r.Help {
		out = append(out, h.Command+" "+h.Effect)
	}
	return out
}

func TestTheContractHasTheTableOfCodes(t *testing.T) {
	doc, err := contract()
	require.NoError(t, err)
	schema := doc.Components.Schemas["Code"].Value
	var described []fault.Code
	for _, one := range schema.Enum {
		described = append(described, fault.Code(one.(string)))
	}
	require.Equal(t, codes(), described)
	for _, row := range fault.Codes {
		require.Contains(t, schema.Description, "- `"+string(row.Code)+"`: "+row.Meaning+"\n")
	}
}

// Every route, asked in every way in which it refuses whatever it does, answers
// with a code of the table.
func TestEveryRouteRefusesWithACode(t *testing.T) {
	bare, err := api.New(config{Store: stubStore{}, Operations: &operations{}, Drivers: drivers{}})
	require.NoError(t, err)
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	closed := newBench(t, func(c *config) { c.Auth = api.Auth{Strategy: api.HTTPBasic, File: file} })
	values := strings.NewReplacer(":node", "nosuch", ":port", "nosuch", ":driver", "nosuch", ":conductor", "nosuch", ":allocation", "nosuch",
		":operation", "4711", ":event", "nosuch", ":host", "nosuch", ":trait", "nosuch", ":vif", "nosuch", ":instance", "nosuch")
	for _, route := range bare.Routes() {
		method, path := route[0], values.Replace(route[1])
		refused := 0
		see := func(a *answer) {
			t.Helper()
			if a.status >= 400 {
				a.refused(a.status)
				refused++
			}
		}
		for _, body := range []any{nil, "{", "[]", map[string]any{"unknown": true}} {
			see(b.at(newest, method, path+"?unknown=1", body))
		}
		see(b.at(1, method, path, nil))
		see(b.at(9999, method, path, nil))
		see(b.at(newest, "TRACE", path, nil))
		see(closed.at(newest, method, path, nil))
		see(b.with(http.Header{"Origin": {"http://elsewhere.test"}, "Sec-Fetch-Site": {"cross-site"}}, method, path, nil))
		require.Positive(t, refused, "%s %s refuses nothing", method, path)
	}
	require.Equal(t, fault.ResourceNotFound, b.get("/v1/nosuch").refused(404).Code)
}

func TestHelpNamesWhatWouldWork(t *testing.T) {
	b := newBench(t).withConductors()
	ask := func(name, target string, status int) refusal {
		t.Helper()
		a := b.put("/v1/nodes/"+name+"/states/provision", map[string]any{"target": target})
		require.NotContains(t, a.fails(status), "temper", "the words are Ironic's alone")
		return a.refused(status)
	}
	b.in("busy", node.Deploying)
	got := ask("busy", "manage", 409)
	require.Equal(t, fault.NodeLocked, got.Code)
	require.Equal(t, []string{"temper node why busy shows what holds it", "temper operation cancel 1 ends it"}, got.commands())
	require.Equal(t, "POST", got.Help[1].Method)
	b.post(got.Help[1].Path, map[string]any{}).is(202)
	require.Equal(t, []string{"temper node why busy shows what holds it"}, ask("busy", "manage", 409).commands(), "it is being ended")

	b.in("held", node.DeployHold)
	b.sql(`UPDATE operations SET phase = 'holding', steps = jsonb_set(steps, '{1,state}', '"failed"') WHERE node_name = 'held'`)
	id := b.text(`SELECT id::text FROM operations WHERE node_name = 'held'`)
	got = ask("held", "manage", 400)
	require.Equal(t, []string{
		"temper node why held shows what holds it", "temper operation retry " + id + " runs the failed step again", "temper operation abort " + id + " ends it",
	}, got.commands())

	b.enrolled("new")
	got = ask("new", "active", 400)
	require.Equal(t, fault.StateNotAllowed, got.Code)
	require.Equal(t, []string{"temper node manage new first makes it manageable", "temper node provide new then makes it available"}, got.commands())

	b.in("used", node.Active)
	got = ask("used", "active", 400)
	require.Equal(t, fault.AlreadyInState, got.Code)
	require.Empty(t, got.Help)
	got = ask("used", "clean", 400)
	require.Equal(t, fault.StateNotAllowed, got.Code)
	require.Empty(t, got.Help, "no verb leads there without harm")
	require.Empty(t, ask("used", "explode", 400).Help)

	b.sql(`UPDATE nodes SET protected = true WHERE name = 'used'`)
	got = ask("used", "deleted", 403)
	require.Equal(t, fault.NodeProtected, got.Code)
	require.Equal(t, []string{"temper node set used --protected=false lifts that"}, got.commands())
	require.Equal(t, fault.NodeNotFound, ask("nosuch", "manage", 404).Code)
}

// What help says is a request that the API has: the bench checks each against the contract.
func TestEveryActionIsARequestOfTheContract(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	n := &node.Node{UUID: b.text(`SELECT uuid::text FROM nodes`), Name: "n1"}
	for _, do := range explain.Dos {
		a := explain.Action{Do: do, Operation: 4711, Group: "rack"}
		switch do {
		case explain.Decide:
			a.Decision = node.ActionRetry
		case explain.ChangeState:
			a.Event = node.EventInspect
		}
		item := help.Of(n, a)
		got := b.at(newest, item.Method, item.Path, item.Body)
		if got.status >= 400 { // it would be accepted of a node that is in another state
			require.NotContains(t, []fault.Code{fault.InvalidRequest, fault.ResourceNotFound, fault.MethodNotAllowed}, got.refused(got.status).Code, "%s: %s", do, got.raw)
		}
	}
}
