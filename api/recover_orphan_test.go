package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestRecoverEndsWhatHasLostItsWorkflow(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Deploying)
	o := b.lastOperation("n1")
	b.sql(`UPDATE operations SET run_id = 'r1', begun_at = now(), undo = '["eject media"]', steps = jsonb_set(steps, '{1,started_at}', '"2026-01-01T00:00:00Z"') WHERE id = $1`, o.ID)

	b.ops.status = node.RunStatus{Known: true, Open: true}
	alive := b.post("/temper/v1/nodes/n1/recover", map[string]any{}).is(200)
	require.Equal(t, []any{"open", true, nil}, []any{alive["workflow"], alive["alive"], alive["done"]})

	b.ops.status = node.RunStatus{}
	unknown := b.post("/temper/v1/nodes/n1/recover", map[string]any{}).is(200)
	require.Equal(t, []any{"unknown", nil}, []any{unknown["workflow"], unknown["done"]}, "that is reconciliation's")
	require.Equal(t, "deploying", b.field("n1", "provision_state"))

	b.ops.status = node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Hour)}
	ended := b.post("/temper/v1/nodes/n1/recover", map[string]any{}).is(200)
	require.Equal(t, []any{"closed", "ended: its workflow was terminated"}, []any{ended["workflow"], ended["done"]})
	n, err := b.store.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.Nil(t, n.Operation)
	require.Equal(t, node.DeployFailed, n.ProvisionState)
	require.Contains(t, n.Owed, node.UndoEjectMedia)
	require.Contains(t, n.LastError, "was terminated; ended on request")
	require.Nil(t, b.post("/temper/v1/nodes/n1/recover", map[string]any{}).is(200)["operation"])
}

func TestRecoverCancelsWhatWaitsForAConductor(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Deploying)
	o := b.lastOperation("n1")
	b.sql(`UPDATE operations SET run_id = 'r1', begun_at = now(), phase = 'waiting', stalled = 'conductor', stalled_at = now(), waiting_for = 'a conductor' WHERE id = $1`, o.ID)
	b.killed("c1", "c2")
	b.ops.status = node.RunStatus{Known: true, Open: true}
	r := b.post("/temper/v1/nodes/n1/recover", map[string]any{"reason": "enough"}).is(200)
	require.Contains(t, r["done"], "cancelled: nobody covers the node")
	require.Contains(t, b.ops.toldWhat(), "cancel "+id(o.ID)+": recover: nobody covers the node: enough")
	require.Equal(t, node.AskCancel, b.lastOperation("n1").Asked)
}
