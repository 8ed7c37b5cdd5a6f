package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Whoever is at work goes on until the claim ends, also while Temporal is asked.
func TestWhatAStepLeavesUntilItsNodeIsTakenByForceIsOwed(t *testing.T) {
	b := newBench(t, func(c *api.Config) { c.HardwareDeadline = time.Millisecond }).withConductors()
	b.in("n1", node.Deploying)
	b.ops.status = node.RunStatus{Known: true, Open: true}
	b.ops.asked = func() { b.sql(`UPDATE operations SET undo = '["eject media"]'`) }
	done := b.post("/temper/v1/nodes/n1/recover", map[string]any{"force": true, "reason": "rack 7 burns"}).is(200)
	require.Contains(t, done["done"], "ended by force")
	n, err := b.store.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.Equal(t, node.DeployFailed, n.ProvisionState)
	require.Contains(t, n.Owed, node.UndoEjectMedia)
}

func TestForceClosesWhenTheLastRequestToHardwareIsOver(t *testing.T) {
	b := newBench(t, func(c *api.Config) { c.HardwareDeadline = 5 * time.Second }).withConductors()
	b.in("n1", node.Deploying)
	b.ops.status = node.RunStatus{Known: true, Open: true}
	began := time.Now()
	b.post("/temper/v1/nodes/n1/recover", map[string]any{"force": true, "reason": "rack 7 burns"}).is(200)
	require.Greater(t, time.Since(began), 5*time.Second)
}

// Force waits for the last request to hardware, which may take longer than the request's own deadline.
func TestForceGoesOnWithoutItsRequest(t *testing.T) {
	b := newBench(t, func(c *api.Config) { c.HardwareDeadline = time.Millisecond }).withConductors()
	b.in("n1", node.Deploying)
	b.ops.status = node.RunStatus{Known: true, Open: true}
	ctx, cancel := context.WithCancel(t.Context())
	b.ops.asked = cancel
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/temper/v1/nodes/n1/recover", strings.NewReader(`{"force": true, "reason": "rack 7 burns"}`))
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var done map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &done))
	require.Contains(t, done["done"], "ended by force")
	require.NotEmpty(t, done["next"])
	require.NotEmpty(t, done["why"])
	require.Equal(t, "deploy failed", b.field("n1", "provision_state"))
}

func TestBlankReasonsAreNone(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Deploying)
	b.post("/temper/v1/nodes/n1/recover", map[string]any{"force": true, "reason": " \t"}).fails(400)
	b.post("/temper/v1/operations/recover", map[string]any{"lost_temporal": true, "reason": "  "}).fails(400)
}

func TestWhyAndRecoverSayThatNoOrchestratorRuns(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Deploying)
	b.ops.status = node.RunStatus{Known: true, Open: true}
	require.NoError(t, b.store.Reconciled(t.Context()))
	silent := "No orchestrator has reconciled"
	require.NotContains(t, b.get("/temper/v1/nodes/n1/why").is(200)["text"], silent)
	b.sql("UPDATE ring_epoch SET reconciled_at = reconciled_at - interval '2 minutes'")
	require.Contains(t, b.get("/temper/v1/nodes/n1/why").is(200)["text"], silent+" for 2m0s: nothing goes on until one runs")
	require.Contains(t, b.post("/temper/v1/nodes/n1/recover", map[string]any{}).is(200)["next"], silent)
}

func TestWhySaysFirstThatNobodyCoversTheNode(t *testing.T) {
	b := newBench(t)
	i := b.conductor("c1", "", "fake-hardware")
	b.conductor("c2", "rack", "fake-hardware")
	b.in("n1", node.Available)
	require.NoError(t, b.store.StopConductor(t.Context(), "c1", i))
	why := b.get("/temper/v1/nodes/n1/why").is(200)
	require.True(t, strings.HasPrefix(why["trouble"].([]any)[0].(string), "No live conductor covers it since "), why)
	require.Contains(t, why["text"], "c1, stopped, last heartbeat")
	require.Equal(t, []any{"temper node manage n1", "temper conductor list", "temper node set n1 --conductor-group rack"}, why["commands"])
	b.patch("/v1/nodes/n1", replace("/conductor_group", "rack")).is(200)
	require.NotContains(t, b.get("/temper/v1/nodes/n1/why").is(200)["text"], "No live conductor")
}

// What needs no workflow to be ended is ended without Temporal, too, and the answer tells how the node is then.
func TestRecoverEndsWhatNobodyCoversWithoutTemporal(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Deploying)
	b.sql(`UPDATE operations SET run_id = 'r1', begun_at = now(), phase = 'waiting', stalled = 'conductor', stalled_at = now(), waiting_for = 'a conductor', undo = '["eject media"]'`)
	b.killed("c1", "c2")
	b.ops.fail = fault.New(fault.Unavailable, "no Temporal")
	r := b.post("/temper/v1/nodes/n1/recover", map[string]any{"reason": "enough"}).is(200)
	require.Equal(t, "unreachable", r["workflow"])
	require.Contains(t, r["done"], "cancelled: nobody covers the node, so it has ended")
	require.Contains(t, r["next"], "an undo of what earlier work left: ")
	require.Contains(t, r["why"], "Node n1 is deploy failed, nobody holds it")
	n, err := b.store.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.Nil(t, n.Operation)
}

// The row is still the old run's when the new one rests on a timer.
func TestRecoverLeavesAWorkflowAloneThatWasReset(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Deploying)
	b.ops.status = node.RunStatus{Known: true, How: "terminated", ClosedAt: b.now().Add(-time.Hour)}
	b.ops.newest = &node.RunStatus{Known: true, Open: true}
	r := b.post("/temper/v1/nodes/n1/recover", map[string]any{}).is(200)
	require.Equal(t, []any{"open", true, nil}, []any{r["workflow"], r["alive"], r["done"]})
	require.NotContains(t, b.get("/temper/v1/nodes/n1/why").is(200)["text"], "terminated")
	b.ops.newest = nil
	require.Contains(t, b.post("/temper/v1/nodes/n1/recover", map[string]any{}).is(200)["done"], "was terminated")
}
