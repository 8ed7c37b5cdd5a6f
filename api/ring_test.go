package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

// epoch computes and writes the next epoch, as a reconciliation does.
func (b *bench) epoch() {
	b.t.Helper()
	f, err := b.store.Fleet(b.t.Context())
	require.NoError(b.t, err)
	next := coverage.Epoch{Read: f.Epoch, Changes: f.Changes}
	for _, c := range f.Members {
		next.Members = append(next.Members, c.ID)
	}
	for _, r := range coverage.Rings(f) {
		var needs []int64
		for _, d := range r.Requirements {
			needs = append(needs, d.ID)
		}
		nodes, err := b.store.RingNodes(b.t.Context(), needs)
		require.NoError(b.t, err)
		moves, _ := r.Next(nodes)
		for _, m := range moves {
			next.Nodes, next.Owners = append(next.Nodes, m.Node.ID), append(next.Owners, m.To)
		}
		next.Rings = append(next.Rings, coverage.RingState{Group: r.Group, Driver: r.Driver, Covers: r.Covers})
	}
	_, err = b.store.WriteEpoch(b.t.Context(), next)
	require.NoError(b.t, err)
}

func (b *bench) dead(host string) {
	b.t.Helper()
	b.sql(`UPDATE conductors SET heartbeat_at = clock_timestamp() - interval '1 minute' WHERE hostname = $1`, host)
}

// owners are those that GET /temper/v1/ring tells, counted.
func (b *bench) owners(query string) map[any]int {
	b.t.Helper()
	out := map[any]int{}
	for _, o := range b.get("/temper/v1/ring" + query).is(200)["owners"].([]any) {
		out[o.(map[string]any)["conductor"]]++
	}
	return out
}

func TestTheRingTellsWhoOwnsWhat(t *testing.T) {
	b := newBench(t).withConductors()
	for i := range 10 {
		b.enrolled(fmt.Sprintf("n%d", i))
	}
	require.Equal(t, 10, b.owners("")["c1"]+b.owners("")["c2"], "before the first epoch, too")
	b.epoch()
	require.EqualValues(t, 1, b.get("/temper/v1/ring").is(200)["epoch"])
	require.Equal(t, map[any]int{"c1": 5, "c2": 5}, b.owners("?driver=fake-hardware&conductor_group="))
	require.Empty(t, b.owners("?driver=redfish"))
	first := b.get("/temper/v1/ring?limit=7").is(200)
	require.Len(t, first["owners"], 7)
	require.Contains(t, first["next"], "marker=")

	b.dead("c1")
	require.Equal(t, map[any]int{"c2": 10}, b.owners(""), "a dead one is never named, whatever the epoch says")
	n := b.get("/v1/nodes/n3?fields=conductor").is(200)
	require.Equal(t, "c2", n["conductor"])
	require.Len(t, b.get("/v1/nodes?conductor=c2").is(200)["nodes"], 10)
	require.Empty(t, b.get("/v1/nodes?conductor=c1").is(200)["nodes"])
	b.dead("c2")
	require.Equal(t, map[any]int{nil: 10}, b.owners(""))
}

func TestTheNodesOfAConductorAreThoseOfTheRing(t *testing.T) {
	b := newBench(t).withConductors()
	for i := range 6 {
		b.enrolled(fmt.Sprintf("n%d", i))
	}
	b.epoch()
	b.enrolled("new")
	c1, c2 := b.get("/v1/nodes?conductor=c1").is(200)["nodes"].([]any), b.get("/v1/nodes?conductor=c2").is(200)["nodes"].([]any)
	require.Equal(t, 7, len(c1)+len(c2), "one that came since is somebody's")
	require.GreaterOrEqual(t, len(c1), 3)
	require.GreaterOrEqual(t, len(c2), 3)
}

func TestWhatIfTouchesNothing(t *testing.T) {
	b := newBench(t).withConductors()
	for i := range 8 {
		b.enrolled(fmt.Sprintf("n%d", i))
	}
	b.conductor("r1", "rack", "fake-hardware")
	for i := range 3 {
		b.post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": fmt.Sprintf("r%d", i), "conductor_group": "rack"}).is(201)
	}
	b.epoch()
	got := b.get("/temper/v1/ring/what-if?without=c1,r1").is(200)
	require.EqualValues(t, 4, got["moved"])
	require.EqualValues(t, 3, got["quarantined"])
	require.Equal(t, map[string]any{"c2": 4.0}, got["gains"])
	require.Len(t, got["moves"], 4)
	var names []any
	for _, q := range got["quarantines"].([]any) {
		names = append(names, q.(map[string]any)["node_name"])
		require.Equal(t, map[string]any{"from": "r1", "to": nil}, without(without(q.(map[string]any), "node_uuid"), "node_name"))
	}
	require.ElementsMatch(t, []any{"r0", "r1", "r2"}, names)
	got = b.get("/temper/v1/ring/what-if?without=c1,r1&conductor_group=rack").is(200)
	require.EqualValues(t, 0, got["moved"])
	require.EqualValues(t, 3, got["quarantined"])
	require.Equal(t, map[any]int{"c1": 4, "c2": 4, "r1": 3}, b.owners(""))
	require.EqualValues(t, 1, b.get("/temper/v1/ring").is(200)["epoch"])
	require.Contains(t, b.get("/temper/v1/ring/what-if?without=c9").fails(404), "Conductor c9 could not be found.")
	b.get("/temper/v1/ring/what-if").fails(400)
}

func without(m map[string]any, key string) map[string]any {
	delete(m, key)
	return m
}

func TestCoverageIsOfLiveConductors(t *testing.T) {
	b := newBench(t)
	mine := map[string]map[string][]string{"fake-hardware": {"power": {"fake"}, "boot": {"fake"}}}
	_, err := b.store.RegisterConductor(t.Context(), coverage.Conductor{Hostname: "a", Interfaces: mine})
	require.NoError(t, err)
	b.conductor("b", "", "fake-hardware")
	b.enrolled("n1")
	row := func() map[string]any {
		for _, r := range b.get("/temper/v1/coverage").is(200)["coverage"].([]any) {
			if r := r.(map[string]any); r["driver"] == "fake-hardware" && r["conductor_group"] == "" {
				return r
			}
		}
		return nil
	}
	r := row()
	require.Equal(t, []any{"a", "b"}, r["conductors"])
	require.Equal(t, []any{"a", "b"}, r["interfaces"].(map[string]any)["power"].(map[string]any)["fake"])
	require.Equal(t, []any{"b"}, r["interfaces"].(map[string]any)["deploy"].(map[string]any)["fake"])
	require.EqualValues(t, 1, r["nodes"])
	require.EqualValues(t, 0, r["quarantined"])

	// The driver lives on a, the interfaces lived on b only.
	b.dead("b")
	r = row()
	require.Equal(t, []any{"a"}, r["conductors"])
	require.NotContains(t, r["interfaces"], "deploy")
	require.EqualValues(t, 1, r["quarantined"])
	const words = `No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "". Ensure the driver is valid and enabled.`
	require.Equal(t, words, b.put("/v1/nodes/n1/states/power", map[string]any{"target": "power on"}).fails(404))
	require.Nil(t, b.field("n1", "conductor"))
	b.patch("/v1/nodes/n1", replace("/extra", map[string]any{"a": 1})).is(200)

	b.dead("a")
	r = row()
	require.Empty(t, r["conductors"])
	require.EqualValues(t, 1, r["nodes"])
}

// Each interface is enabled somewhere, and no conductor has them all.
func TestInterfacesOfANodeAreThoseOfOneConductor(t *testing.T) {
	b := newBench(t)
	hw, _ := node.Hardware("redfish")
	some := func(name, kind string) {
		enabled := map[string][]string{}
		for k, impls := range hw.Supports() {
			enabled[k] = impls
		}
		enabled[kind] = nil
		_, err := b.store.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name, Interfaces: map[string]map[string][]string{"redfish": enabled}})
		require.NoError(t, err)
	}
	some("a", "power")
	some("b", "boot")
	body := map[string]any{"driver": "redfish", "name": "n1", "driver_info": map[string]any{"redfish_address": "http://x"}}
	require.Contains(t, b.post("/v1/nodes", body).fails(400), "No valid host was found")
	b.get("/v1/nodes/n1").fails(404)
	b.conductor("c", "", "redfish")
	b.post("/v1/nodes", body).is(201)
}

func TestARequestCanWaitForAConductor(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	b.dead("c1")
	b.dead("c2")
	b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).fails(503)
	b.put("/v1/nodes/n1/states/provision?wait_for_conductor=perhaps", map[string]any{"target": "manage"}).fails(400)
	a := b.put("/v1/nodes/n1/states/provision?wait_for_conductor=true", map[string]any{"target": "manage"})
	a.is(202)
	require.NotEmpty(t, a.header.Get("Temper-Operation"))
	require.Len(t, b.ops.startedIDs(), 1)
	b.moveTo(b.enrolled2("n2"), node.Available)
	b.with(http.Header{"Temper-Wait-For-Conductor": {"true"}, "X-Openstack-Ironic-Api-Version": {"1.95"}}, "PUT", "/v1/nodes/n2/states/power", map[string]any{"target": "power on"}).is(202)
}

// enrolled2 makes a node though no conductor lives.
func (b *bench) enrolled2(name string) string {
	b.t.Helper()
	n := &node.Node{Name: name, Driver: "fake-hardware", ProvisionState: node.Enroll, Interfaces: map[string]string{"power": "fake"}}
	require.NoError(b.t, b.store.CreateNode(b.t.Context(), n, nil, ""))
	return n.UUID
}

func TestDrainingTheLastOfADriverNeedsForce(t *testing.T) {
	runs := 0
	b := newBench(t, func(c *api.Config) { c.Reconcile = func(context.Context) error { runs++; return errors.New("away") } }).withConductors()
	for i := range 12 {
		b.enrolled(fmt.Sprintf("n%d", i))
	}
	b.epoch()
	k := b.post("/temper/v1/conductors/c1/drain", nil).is(202)
	require.Equal(t, "draining", k["state"])
	require.Equal(t, 6, whole(k["nodes"]), "in the newest epoch")
	require.Equal(t, 1, runs)
	require.Equal(t, map[any]int{"c2": 12}, b.owners(""), "at once")
	require.Equal(t, "Conductor c2 is the last one that covers 12 nodes: n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more. Drained with force, it leaves them to nobody.",
		b.post("/temper/v1/conductors/c2/drain", map[string]any{}).fails(409))
	b.post("/temper/v1/conductors/c1/drain", nil).is(202)
	b.post("/temper/v1/conductors/c2/drain", map[string]any{"force": true}).is(202)
	require.Equal(t, map[any]int{nil: 12}, b.owners(""))
	b.post("/temper/v1/conductors/c9/drain", nil).fails(404)
	b.dead("c1")
	require.Contains(t, b.post("/temper/v1/conductors/c1/drain", nil).fails(409), "is dead")
}

func TestOnlyTheDeadAreForgotten(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.in("n1", node.Deploying)
	b.epoch()
	require.Contains(t, b.delete("/temper/v1/conductors/c1").fails(409), "Conductor c1 is alive.")
	b.dead("c1")
	require.Equal(t, "dead", state(b, "c1"))
	b.delete("/temper/v1/conductors/c1").is(204)
	b.delete("/temper/v1/conductors/c1").fails(404)
	require.Empty(t, state(b, "c1"))
	require.Equal(t, "c2", b.field(uuid, "conductor"))
	ops := b.get("/temper/v1/operations?node=n1").is(200)["operations"].([]any)
	require.Equal(t, "running", ops[0].(map[string]any)["state"], "what it held goes on")
	b.dead("c2")
	b.delete("/temper/v1/conductors/c2").is(204)
	require.Nil(t, b.field(uuid, "conductor"))
}

func state(b *bench, host string) string {
	for _, k := range b.get("/temper/v1/conductors").is(200)["conductors"].([]any) {
		if k := k.(map[string]any); k["hostname"] == host {
			return k["state"].(string)
		}
	}
	return ""
}

func TestTheReconciliationCanBeRun(t *testing.T) {
	b := newBench(t)
	require.Contains(t, b.post("/temper/v1/reconcile", nil).fails(503), "Temporal is away")
	runs := 0
	metrics := prometheus.NewRegistry()
	b = newBench(t, func(c *api.Config) {
		c.Reconcile = func(context.Context) error { runs++; return nil }
		c.Metrics = metrics
	}).withConductors()
	require.Equal(t, map[string]any{"queued": true, "late": true, "reconciled_seconds_ago": nil}, b.post("/temper/v1/reconcile", nil).is(202))
	require.Equal(t, 1, runs)
	require.Nil(t, b.get("/temper/v1/readyz").is(200)["reconciled_seconds_ago"])
	require.NoError(t, b.store.Reconciled(t.Context()))
	b.sql("UPDATE ring_epoch SET reconciled_at = reconciled_at - interval '42 seconds'")
	require.InDelta(t, 42, b.get("/temper/v1/readyz").is(200)["reconciled_seconds_ago"], 2)
	b.dead("c1")
	told := map[string]float64{}
	families, err := metrics.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				told[f.GetName()+" "+l.GetValue()] = m.GetGauge().GetValue()
			}
			told[f.GetName()] = m.GetGauge().GetValue()
		}
	}
	require.InDelta(t, 42, told["temper_reconcile_age_seconds"], 2)
	require.Equal(t, 1, int(told["temper_conductors alive"]))
	require.Equal(t, 1, int(told["temper_conductors dead"]))
	require.Contains(t, told, "temper_ring_epoch")
}
