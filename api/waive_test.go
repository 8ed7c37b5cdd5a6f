package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestAPersonWaivesWhatANodeOwes(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.DeployFailed)
	path := "/temper/v1/nodes/n1/waive"
	require.Contains(t, b.post(path, map[string]any{"reason": "x"}).fails(409), "owes nothing")
	b.sql(`UPDATE nodes SET owed = '["eject media"]', owed_error = 'eject: 400', owed_refused = true,
		last_error = 'no disk; what it left is still to be undone: eject: 400'`)
	info := b.get("/v1/nodes/n1").is(200)["driver_internal_info"].(map[string]any)
	require.Equal(t, []any{"eject media"}, info["temper_owed"])
	require.Equal(t, "eject: 400", info["temper_owed_error"])
	why := b.get("/temper/v1/nodes/n1/why").is(200)
	require.Contains(t, why["text"], "What earlier work left (eject media) can't be undone: eject: 400")
	require.Contains(t, why["commands"], "temper node waive n1 --reason WHY")

	for _, in := range []map[string]any{{}, {"reason": " "}, {"reason": 7}, {"reason": strings.Repeat("x", 5000)}, {"reason": "x", "by": "y"}} {
		b.post(path, in).fails(400)
	}
	b.post("/temper/v1/nodes/nobody/waive", map[string]any{"reason": "x"}).fails(404)
	out := b.post(path, map[string]any{"reason": "the drive is broken"}).is(200)
	require.Equal(t, []any{"eject media"}, out["waived"])
	require.Nil(t, out["operation"])
	n := b.get("/v1/nodes/n1").is(200)
	require.NotContains(t, n["driver_internal_info"], "temper_owed")
	require.Equal(t, "no disk; what it left was waived by somebody without a name: the drive is broken", n["last_error"])
	require.NotContains(t, b.get("/temper/v1/nodes/n1/why").is(200)["commands"], "temper node waive n1 --reason WHY")
}

// Whoever waives what is being undone right now wants no more of it.
func TestAWaiverStopsTheUndoThatIsUnderWay(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.DeployFailed)
	b.sql(`UPDATE nodes SET owed = '["eject media"]'`)
	steps, err := plan.Steps(node.KindUndo, &node.Node{}, nil, plan.Options{})
	require.NoError(t, err)
	ops, err := b.store.OpenUndos(t.Context(), steps, "reconciliation", 0, 1)
	require.NoError(t, err)
	require.Len(t, ops, 1)
	out := b.post("/temper/v1/nodes/n1/waive", map[string]any{"reason": "done by hand"}).is(200)
	require.Equal(t, []any{"eject media"}, out["waived"])
	o, err := b.store.Operation(t.Context(), ops[0].ID)
	require.NoError(t, err)
	require.Equal(t, node.AskCancel, o.Asked)
	require.Equal(t, "done by hand", o.AskedReason)
}

func TestAPersonTriesAnUndoAgain(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.DeployFailed)
	b.sql(`UPDATE nodes SET owed = '["eject media"]', owed_refused = true, owed_error = 'eject: 400'`)
	b.sql(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, outcome, origin, conductor_group, driver, steps, ended_at)
		SELECT n.id, n.uuid, n.name, 'undo', 'ended', 'failed', n.provision_state, n.conductor_group, n.driver, '[]', now() FROM nodes n`)
	id := b.get("/temper/v1/operations?kind=undo").is(200)["operations"].([]any)[0].(map[string]any)["id"].(string)
	require.Contains(t, b.get("/temper/v1/nodes/n1/why").is(200)["commands"], "temper operation retry "+id)
	out := b.post("/temper/v1/operations/"+id+"/retry", map[string]any{}).is(202)
	require.Equal(t, "undo", out["kind"])
	require.Equal(t, id, out["retry_of"])
	n, err := b.store.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.False(t, n.OwedRefused)
	b.post("/temper/v1/operations/"+id+"/retry", map[string]any{}).fails(409)
}

// What follows a request for the node fails or holds as that request says, or as the setting does.
func TestWhatFollowsKeepsOnFailure(t *testing.T) {
	for name, c := range map[string]struct{ query, want string }{
		"as the request says": {"?on_failure=hold", "hold"},
		"as the setting says": {"", "fail"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).withConductors()
			b.in("n1", node.DeployWait)
			b.killed("c1", "c2")
			b.sql(`UPDATE operations SET stalled = 'conductor', stalled_at = now(), waiting_for = 'a conductor', phase = 'waiting', begun_at = now(), run_id = 'r', on_failure = 'fail'`)
			b.put("/v1/nodes/n1/states/provision"+c.query, map[string]any{"target": "deleted"}).is(202)
			ops := b.get("/temper/v1/operations?node=n1&kind=undeploy").is(200)["operations"].([]any)
			require.Len(t, ops, 1)
			require.Equal(t, c.want, ops[0].(map[string]any)["on_failure"])
		})
	}
}

// However many power changes came after it, the newest operation that moved the node can be repeated.
func TestAFailedDeployCanBeRepeatedAfterPowerChanges(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.DeployFailed)
	b.sql(`UPDATE nodes SET last_error = 'no disk'`)
	ended := func(kind node.OperationKind, outcome node.Outcome) {
		b.sql(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, outcome, origin, conductor_group, driver, steps, ended_at)
			SELECT n.id, n.uuid, n.name, $1, 'ended', $2, 'available', n.conductor_group, n.driver, '[]', now() FROM nodes n`, kind, outcome)
	}
	ended(node.KindManage, node.Succeeded)
	ended(node.KindDeploy, node.Failed)
	id := b.get("/temper/v1/operations?kind=deploy").is(200)["operations"].([]any)[0].(map[string]any)["id"].(string)
	for range 6 {
		ended(node.KindPower, node.Succeeded)
	}
	require.Contains(t, b.get("/temper/v1/nodes/n1/why").is(200)["commands"], "temper operation retry "+id)
}
