package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/node"
)

// unaudited are the routes of programs that report.
var unaudited = []string{"POST /v1/heartbeat/:node", "POST /v1/continue_inspection", "POST /temper/v1/bmc-events/:secret"}

// alwaysRefused are routes that nothing succeeds with here: Ironic's for what Temper does not do this way, and those of logging in.
var alwaysRefused = []string{
	"PUT /v1/nodes/:node/management/indicators/:indicator",
	"PUT /v1/nodes/:node/states/boot_mode", "PUT /v1/nodes/:node/states/secure_boot", "PUT /v1/nodes/:node/states/raid",
	"POST /temper/v1/logout", // has tests where logging in has them
	"POST /v1/nodes/:node/vmedia", "DELETE /v1/nodes/:node/vmedia",
}

func isVendor(route string) bool { return strings.Contains(route, "vendor_passthru") }

// way is a request for a route.
type way struct {
	path string
	body any
}

func patchOf(path string, v any) []apitest.Op { return []apitest.Op{apitest.Replace(path, v)} }

// successes makes what the requests need, and returns a request for each route that succeeds, in the order in which they are sent.
func successes(b *apitest.Bench) (order []string, ways map[string]func() way) {
	t := b.T
	ways = map[string]func() way{}
	add := func(route, path string, body any) {
		order = append(order, route)
		ways[route] = func() way { return way{path, body} }
	}
	late := func(route string, f func() way) {
		order = append(order, route)
		ways[route] = f
	}
	record := func(path string, body map[string]any) string {
		return b.Post("/v1/"+path, body).Is(201)["uuid"].(string)
	}
	b.Enrolled("n1")
	n1 := b.Enrolled("n0")
	b.In("m1", node.Manageable)
	b.In("a1", node.Available)
	b.SQL(`UPDATE nodes SET power_state = 'power off', resource_class = 'gold', properties = '{"cpu_arch": "x86_64"}'`)

	add("POST /v1/nodes", "/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n2"})
	add("PATCH /v1/nodes/:node", "/v1/nodes/n2", patchOf("/extra", map[string]any{"a": 1}))
	add("PUT /v1/nodes/:node/maintenance", "/v1/nodes/n2/maintenance", map[string]any{"reason": "a fan"})
	add("DELETE /v1/nodes/:node/maintenance", "/v1/nodes/n2/maintenance", nil)
	add("PUT /v1/nodes/:node/traits", "/v1/nodes/n2/traits", map[string]any{"traits": []string{"CUSTOM_A"}})
	add("PUT /v1/nodes/:node/traits/:trait", "/v1/nodes/n2/traits/CUSTOM_B", nil)
	add("DELETE /v1/nodes/:node/traits/:trait", "/v1/nodes/n2/traits/CUSTOM_B", nil)
	add("DELETE /v1/nodes/:node/traits", "/v1/nodes/n2/traits", nil)
	add("POST /v1/nodes/:node/vifs", "/v1/nodes/n2/vifs", map[string]any{"id": "v1"})
	add("DELETE /v1/nodes/:node/vifs/:vif", "/v1/nodes/n2/vifs/v1", nil)
	add("DELETE /v1/nodes/:node", "/v1/nodes/n2", nil)
	add("PUT /v1/nodes/:node/states/provision", "/v1/nodes/n1/states/provision", map[string]any{"target": "manage"})
	add("PUT /v1/nodes/:node/states/power", "/v1/nodes/m1/states/power", map[string]any{"target": "power on"})
	late("POST /temper/v1/operations/:operation/unpause", func() way {
		return way{fmt.Sprintf("/temper/v1/operations/%d/unpause", b.LastOperation("m1").ID), map[string]any{"reason": "looked"}}
	})
	late("POST /temper/v1/operations/:operation/cancel", func() way {
		return way{fmt.Sprintf("/temper/v1/operations/%d/cancel", b.LastOperation("m1").ID), map[string]any{"reason": "wrong node"}}
	})
	late("POST /temper/v1/operations/:operation/retry", func() way {
		b.SQL(`UPDATE operations SET ended_at = now(), phase = 'ended', state = 'ended', outcome = 'failed', error = 'x', cause = 'bmc_silent', asked = '' WHERE node_id = (SELECT id FROM nodes WHERE name = 'm1')`)
		return way{fmt.Sprintf("/temper/v1/operations/%d/retry", b.LastOperation("m1").ID), map[string]any{}}
	})
	late("POST /temper/v1/operations/:operation/decision", func() way {
		b.In("h1", node.DeployHold)
		b.SQL(`UPDATE operations SET phase = 'holding', steps = jsonb_set(steps, '{1,state}', '"failed"') WHERE node_id = (SELECT id FROM nodes WHERE name = 'h1')`)
		return way{fmt.Sprintf("/temper/v1/operations/%d/decision", b.LastOperation("h1").ID), map[string]any{"action": "retry", "reason": "again"}}
	})
	add("POST /temper/v1/operations/recover", "/temper/v1/operations/recover", map[string]any{"lost_temporal": true, "reason": "its disk is gone"})
	add("POST /temper/v1/nodes/:node/operations", "/temper/v1/nodes/a1/operations", map[string]any{"verb": "manage"})
	late("POST /temper/v1/nodes/:node/waive", func() way {
		b.In("w1", node.Manageable)
		b.SQL(`UPDATE nodes SET owed = '["eject media"]' WHERE name = 'w1'`)
		return way{"/temper/v1/nodes/w1/waive", map[string]any{"reason": "no such drive"}}
	})
	late("POST /temper/v1/nodes/:node/recover", func() way {
		b.In("r1", node.Deploying)
		b.SQL(`UPDATE operations SET run_id = 'r1', begun_at = now() WHERE node_id = (SELECT id FROM nodes WHERE name = 'r1')`)
		b.Operations.Run = node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Hour)}
		return way{"/temper/v1/nodes/r1/recover", map[string]any{}}
	})

	add("POST /v1/events", "/v1/events", map[string]any{"events": []any{map[string]any{
		"event": "network.bind_port", "port_id": uuid.NewString(), "mac_address": "52:54:00:00:00:01", "status": "ACTIVE",
	}}})
	add("POST /v1/ports", "/v1/ports", map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:01"})
	port := record("ports", map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:02"})
	add("PATCH /v1/ports/:port", "/v1/ports/"+port, patchOf("/extra", map[string]any{"a": 1}))
	add("DELETE /v1/ports/:port", "/v1/ports/"+port, nil)
	kinds := []struct {
		route, parameter string
		body             map[string]any
		change           []apitest.Op
	}{
		{"chassis", "chassis", map[string]any{}, patchOf("/description", "a")},
		{"portgroups", "portgroup", map[string]any{"node_uuid": n1}, patchOf("/extra", map[string]any{"a": 1})},
		{"volume/connectors", "connector", map[string]any{"node_uuid": n1, "type": "ip", "connector_id": "10.0.0.1"}, patchOf("/connector_id", "10.0.0.2")},
		{"volume/targets", "target", map[string]any{"node_uuid": n1, "volume_type": "iscsi", "volume_id": "v", "boot_index": 0}, patchOf("/volume_id", "w")},
		{"deploy_templates", "template", map[string]any{"name": "CUSTOM_A", "steps": []any{map[string]any{"interface": "bios", "step": "x", "args": map[string]any{}, "priority": 1}}}, patchOf("/extra", map[string]any{"a": 1})},
		{"runbooks", "runbook", map[string]any{"name": "CUSTOM_A", "steps": []any{map[string]any{"interface": "bios", "step": "x", "args": map[string]any{}, "order": 1}}}, patchOf("/extra", map[string]any{"a": 1})},
		{"allocations", "allocation", map[string]any{"name": "web", "resource_class": "none"}, patchOf("/name", "web2")},
	}
	for _, k := range kinds {
		at := "/v1/" + k.route
		add("POST "+at, at, k.body)
		one := func() string { return b.Last.Is(b.Last.Status)["uuid"].(string) }
		made := ""
		late("PATCH "+at+"/:"+k.parameter, func() way { made = one(); return way{at + "/" + made, k.change} })
		if k.route == "runbooks" {
			late("PUT /v1/runbooks/:runbook/traits", func() way { return way{at + "/" + made + "/traits", map[string]any{"traits": []string{"CUSTOM_A"}}} })
			late("PUT /v1/runbooks/:runbook/traits/:trait", func() way { return way{at + "/" + made + "/traits/CUSTOM_B", nil} })
			late("DELETE /v1/runbooks/:runbook/traits/:trait", func() way { return way{at + "/" + made + "/traits/CUSTOM_B", nil} })
			late("DELETE /v1/runbooks/:runbook/traits", func() way { return way{at + "/" + made + "/traits", nil} })
		}
		late("DELETE "+at+"/:"+k.parameter, func() way { return way{at + "/" + made, nil} })
	}
	late("DELETE /v1/nodes/:node/allocation", func() way {
		b.In("free", node.Available)
		b.SQL(`UPDATE nodes SET power_state = 'power off', resource_class = 'tin' WHERE name = 'free'`)
		b.Post("/v1/allocations", map[string]any{"resource_class": "tin", "name": "db"}).Is(201)
		return way{"/v1/nodes/free/allocation", nil}
	})

	b.Post("/v1/nodes", map[string]any{"driver": "ipmi", "name": "i1", "driver_info": map[string]any{"ipmi_address": "192.0.2.7"}}).Is(201)
	b.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "rf1", "driver_info": map[string]any{"redfish_address": "https://192.0.2.8"}}).Is(201)
	b.SQL(`UPDATE nodes SET provision_state = 'manageable' WHERE name IN ('i1', 'rf1')`)
	b.Operations.OnAwait = func(o *node.Operation) {
		b.SQL(`UPDATE operations SET ended_at = now(), phase = 'ended', state = 'ended', outcome = 'succeeded' WHERE id = $1`, o.ID)
	}
	add("PUT /v1/nodes/:node/states/console", "/v1/nodes/i1/states/console", map[string]any{"enabled": true})
	add("PUT /v1/nodes/:node/management/boot_device", "/v1/nodes/rf1/management/boot_device", map[string]any{"boot_device": "disk"})
	add("PUT /v1/nodes/:node/management/inject_nmi", "/v1/nodes/rf1/management/inject_nmi", map[string]any{})

	discovery, err := b.Store.PutDiscovery(t.Context(), node.Discovery{MACs: []string{"52:54:00:0b:00:01"}, Inventory: map[string]any{}})
	require.NoError(t, err)
	add("DELETE /temper/v1/discoveries/:discovery", "/temper/v1/discoveries/"+discovery, nil)
	const hooks = "/temper/v1/webhooks"
	add("POST "+hooks, hooks, map[string]any{"name": "w1", "url": "https://example.org", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
	add("PATCH "+hooks+"/:webhook", hooks+"/w1", map[string]any{"enabled": false})
	late("POST "+hooks+"/:webhook/redeliver", func() way {
		b.SQL(`INSERT INTO webhook_dead_letters (webhook_id, seq, message_id, type, body, at, error) SELECT id, 1, 'm', 't', '{}', now(), 'gone' FROM webhooks`)
		return way{hooks + "/w1/redeliver", map[string]any{}}
	})
	add("POST "+hooks+"/:webhook/test", hooks+"/w1/test", nil)
	add("DELETE "+hooks+"/:webhook", hooks+"/w1", nil)
	add("POST /temper/v1/tokens", "/temper/v1/tokens", map[string]any{"name": "ci", "role": "reader"})
	late("DELETE /temper/v1/tokens/:token", func() way { return way{"/temper/v1/tokens/" + b.Last.Is(201)["id"].(string), nil} })
	const conductors = "/temper/v1/conductors"
	add("POST "+conductors+"/:conductor/drain", conductors+"/c1/drain", nil)
	add("POST "+conductors+"/:conductor/undrain", conductors+"/c1/undrain", nil)
	late("DELETE "+conductors+"/:conductor", func() way {
		b.Conductor("c9", "", "redfish")
		b.Kill("c9")
		return way{conductors + "/c9", nil}
	})
	add("POST /temper/v1/reconcile", "/temper/v1/reconcile", nil)
	const computes = "/temper/v1/compute-services"
	add("PUT "+computes+"/:host", computes+"/s1", map[string]any{"incarnation": 1})
	late("POST "+computes+"/move", func() way {
		return way{computes + "/move", map[string]any{"from": "dead", "to": "s1"}}
	})
	late("DELETE "+computes+"/:host", func() way {
		b.Put(computes+"/s2", map[string]any{"incarnation": 1}).Is(200)
		b.Put(computes+"/s2", map[string]any{"incarnation": 1, "stopping": true}).Is(204)
		return way{computes + "/s2", nil}
	})
	late("DELETE /temper/v1/instances/:instance", func() way {
		instance := uuid.NewString()
		b.SQL(`INSERT INTO instances (uuid, node_id) SELECT $1, id FROM nodes WHERE name = 'n1'`, instance)
		return way{"/temper/v1/instances/" + instance, nil}
	})
	return order, ways
}

// Every route that changes something leaves exactly one row, whether it succeeds or refuses.
func TestEveryRouteHasOneRowInTheAudit(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) {
		c.Reconcile = func(context.Context) error { return nil }
	}).WithConductors()
	b.Conductor("c3", "", "ipmi")
	order, ways := successes(b)
	var changing []string
	for _, r := range b.Server.Routes() {
		if name := r[0] + " " + r[1]; r[0] != http.MethodGet && r[0] != http.MethodHead && !slices.Contains(unaudited, name) {
			changing = append(changing, name)
		}
	}
	for _, route := range order {
		require.Contains(t, changing, route, "is no route")
		w := ways[route]()
		method, _, _ := strings.Cut(route, " ")
		a := b.At(apitest.Newest, method, w.path, w.body)
		require.Less(t, a.Status, 300, "%s: %s", route, a.Body)
		one(t, b, a, route, audit.Accepted)
	}
	for _, route := range changing {
		if ways[route] == nil && !slices.Contains(alwaysRefused, route) && !isVendor(route) {
			t.Errorf("say in successes how %s succeeds", route)
		}
		method, path, _ := strings.Cut(route, " ")
		for _, p := range strings.Split(path, "/") {
			if strings.HasPrefix(p, ":") {
				path = strings.Replace(path, p, "no-such-thing", 1)
			}
		}
		a := b.At(apitest.Newest, method, path, "{")
		if a.Status < 300 { // a DELETE of what is not there may be none
			a = b.At(apitest.Newest, method, path, "[1]")
		}
		require.GreaterOrEqual(t, a.Status, 400, "%s: %s", route, a.Body)
		require.Less(t, a.Status, 500, "%s: %s", route, a.Body)
		one(t, b, a, route, audit.Refused)
	}
}

func one(t *testing.T, b *apitest.Bench, a *apitest.Answer, route string, want audit.Outcome) {
	t.Helper()
	rows := b.Audited(a)
	require.Len(t, rows, 1, route)
	require.Equal(t, route, rows[0].Route)
	require.Equal(t, want, rows[0].Outcome, route)
	require.Equal(t, node.Anonymous, rows[0].User)
	require.Equal(t, "192.0.2.1", rows[0].From)
}
