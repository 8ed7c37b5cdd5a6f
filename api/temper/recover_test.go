package temper_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestRecoverEndsWhatHasLostItsWorkflow(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Deploying)
	o := b.LastOperation("n1")
	b.SQL(`UPDATE operations SET run_id = 'r1', begun_at = now(), undo = '["eject media"]', steps = jsonb_set(steps, '{1,started_at}', '"2026-01-01T00:00:00Z"') WHERE id = $1`, o.ID)

	b.Operations.Run = node.RunStatus{Known: true, Open: true}
	alive := b.Post("/temper/v1/nodes/n1/recover", map[string]any{}).Is(200)
	require.Equal(t, []any{"open", true, nil}, []any{alive["workflow"], alive["alive"], alive["done"]})

	b.Operations.Run = node.RunStatus{}
	unknown := b.Post("/temper/v1/nodes/n1/recover", map[string]any{}).Is(200)
	require.Equal(t, []any{"unknown", nil}, []any{unknown["workflow"], unknown["done"]}, "that is reconciliation's")
	require.Equal(t, "deploying", b.Field("n1", "provision_state"))

	b.Operations.Run = node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Hour)}
	ended := b.Post("/temper/v1/nodes/n1/recover", map[string]any{}).Is(200)
	require.Equal(t, []any{"closed", "ended: its workflow was terminated"}, []any{ended["workflow"], ended["done"]})
	n, err := b.Store.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.Nil(t, n.Operation)
	require.Equal(t, node.DeployFailed, n.ProvisionState)
	require.Contains(t, n.Owed, node.UndoEjectMedia)
	require.Contains(t, n.LastError, "was terminated; ended on request")
	require.Nil(t, b.Post("/temper/v1/nodes/n1/recover", map[string]any{}).Is(200)["operation"])
}

// A dry run changes nothing, and says what the same request without it does then.
func TestADryRunOfRecoverEndsNothing(t *testing.T) {
	t.Parallel()
	closed := node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Hour)}
	for name, c := range map[string]struct {
		run    node.RunStatus
		orphan bool
		body   map[string]any
		done   string
		effect string
	}{
		"a workflow that is over":       {closed, false, map[string]any{}, "ended: its workflow was terminated", "operation 1 (deploy): failed"},
		"a conductor that is not there": {node.RunStatus{Known: true, Open: true}, true, map[string]any{}, "cancelled: nobody covers the node", "operation 1 (deploy): cancelled"},
		"force":                         {node.RunStatus{Known: true, Open: true}, false, map[string]any{"force": true, "reason": "rack 7 burns"}, "ended by force", "operation 1 (deploy): failed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := apitest.New(t, func(c *api.Config) { c.HardwareDeadline = time.Millisecond }).WithConductors()
			b.In("n1", node.Deploying)
			b.SQL(`UPDATE operations SET run_id = 'r1', begun_at = now(), undo = '["eject media"]', steps = jsonb_set(steps, '{1,started_at}', '"2026-01-01T00:00:00Z"')`)
			if c.orphan {
				b.SQL(`UPDATE operations SET phase = 'waiting', stalled = 'conductor', stalled_at = now(), waiting_for = 'a conductor'`)
				b.Kill("c1", "c2")
			}
			b.Operations.Run = c.run
			before := everything(b)
			asked := map[string]any{"dry_run": true}
			maps.Copy(asked, c.body)
			dry := b.Post("/temper/v1/nodes/n1/recover", asked).Is(200)
			require.Equal(t, before, everything(b))
			require.Contains(t, dry["done"], c.done)
			require.Equal(t, []any{
				c.effect, "to be undone: eject media, power off, as soon as a conductor covers the node", "node n1: deploy failed, no operation holds it",
			}, dry["effects"])
			done := b.Post("/temper/v1/nodes/n1/recover", c.body).Is(200)
			require.Equal(t, []any{false, dry["effects"]}, []any{done["dry_run"], done["effects"]})
		})
	}
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Deploying)
	b.Operations.Run = node.RunStatus{Known: true, Open: true}
	alive := b.Post("/temper/v1/nodes/n1/recover", map[string]any{"dry_run": true}).Is(200)
	require.Equal(t, []any{nil, []any{}}, []any{alive["done"], alive["effects"]})
}

func TestRecoverCancelsWhatWaitsForAConductor(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Deploying)
	o := b.LastOperation("n1")
	b.SQL(`UPDATE operations SET run_id = 'r1', begun_at = now(), phase = 'waiting', stalled = 'conductor', stalled_at = now(), waiting_for = 'a conductor' WHERE id = $1`, o.ID)
	b.Kill("c1", "c2")
	b.Operations.Run = node.RunStatus{Known: true, Open: true}
	r := b.Post("/temper/v1/nodes/n1/recover", map[string]any{"reason": "enough"}).Is(200)
	require.Contains(t, r["done"], "cancelled: nobody covers the node")
	require.Contains(t, b.Operations.Told(), "cancel "+strconv.FormatInt(o.ID, 10)+": recover: nobody covers the node: enough")
	require.Equal(t, node.AskCancel, b.LastOperation("n1").Asked)
}

// A conductor at work goes on until its claim ends, even while recover queries Temporal.
func TestWhatAStepLeavesUntilItsNodeIsTakenByForceIsOwed(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.HardwareDeadline = time.Millisecond }).WithConductors()
	b.In("n1", node.Deploying)
	b.Operations.Run = node.RunStatus{Known: true, Open: true}
	b.Operations.OnStatus = func() { b.SQL(`UPDATE operations SET undo = '["eject media"]'`) }
	done := b.Post("/temper/v1/nodes/n1/recover", map[string]any{"force": true, "reason": "rack 7 burns"}).Is(200)
	require.Contains(t, done["done"], "ended by force")
	n, err := b.Store.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.Equal(t, node.DeployFailed, n.ProvisionState)
	require.Contains(t, n.Owed, node.UndoEjectMedia)
}

func TestForceClosesWhenTheLastRequestToHardwareIsOver(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.HardwareDeadline = time.Second }).WithConductors()
	b.In("n1", node.Deploying)
	b.Operations.Run = node.RunStatus{Known: true, Open: true}
	began := time.Now()
	b.Post("/temper/v1/nodes/n1/recover", map[string]any{"force": true, "reason": "rack 7 burns"}).Is(200)
	require.Greater(t, time.Since(began), time.Second)
}

// Force waits for the last request to hardware, which may take longer than the request's own deadline.
func TestForceGoesOnWithoutItsRequest(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.HardwareDeadline = time.Millisecond }).WithConductors()
	b.In("n1", node.Deploying)
	b.Operations.Run = node.RunStatus{Known: true, Open: true}
	ctx, cancel := context.WithCancel(t.Context())
	b.Operations.OnStatus = cancel
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/temper/v1/nodes/n1/recover", strings.NewReader(`{"force": true, "reason": "rack 7 burns"}`))
	w := httptest.NewRecorder()
	b.Handler.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var done map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &done))
	require.Contains(t, done["done"], "ended by force")
	require.NotEmpty(t, done["next"])
	require.NotEmpty(t, done["why"])
	require.Equal(t, "deploy failed", b.Field("n1", "provision_state"))
}

func TestBlankReasonsAreNone(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Deploying)
	b.Post("/temper/v1/nodes/n1/recover", map[string]any{"force": true, "reason": " \t"}).Fails(400)
	b.Post("/temper/v1/operations/recover", map[string]any{"lost_temporal": true, "reason": "  "}).Fails(400)
}

// An operation that can be ended without its workflow is ended even while Temporal is away, and the answer has the node's new
// state.
func TestRecoverEndsWhatNobodyCoversWithoutTemporal(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Deploying)
	b.SQL(`UPDATE operations SET run_id = 'r1', begun_at = now(), phase = 'waiting', stalled = 'conductor', stalled_at = now(), waiting_for = 'a conductor', undo = '["eject media"]'`)
	b.Kill("c1", "c2")
	b.Operations.Err = fault.New(fault.Unavailable, "no Temporal")
	r := b.Post("/temper/v1/nodes/n1/recover", map[string]any{"reason": "enough"}).Is(200)
	require.Equal(t, "unreachable", r["workflow"])
	require.Contains(t, r["done"], "cancelled: nobody covers the node, so it has ended")
	require.Contains(t, r["next"], "an undo of what earlier work left: ")
	require.Regexp(t, "^Node n1 is deploy failed since [^,]+, nobody holds it", r["why"])
	n, err := b.Store.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.Nil(t, n.Operation)
}

// After a reset, the row still has the old run while the new run waits for a timer.
func TestRecoverLeavesAWorkflowAloneThatWasReset(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Deploying)
	b.Operations.Run = node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Hour)}
	b.Operations.Newest = &node.RunStatus{Known: true, Open: true}
	r := b.Post("/temper/v1/nodes/n1/recover", map[string]any{}).Is(200)
	require.Equal(t, []any{"open", true, nil}, []any{r["workflow"], r["alive"], r["done"]})
	require.NotContains(t, b.Get("/temper/v1/nodes/n1/why").Is(200)["text"], "terminated")
	b.Operations.Newest = nil
	require.Contains(t, b.Post("/temper/v1/nodes/n1/recover", map[string]any{}).Is(200)["done"], "was terminated")
}
