package api_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// orphaned is an API whose conductors were killed a while ago, and whose Temporal
// does not answer.
func orphaned(t *testing.T) *bench {
	b := newBench(t).withConductors()
	b.ops.fail = fault.New(fault.Unavailable, "no Temporal")
	return b
}

func (b *bench) killed(names ...string) {
	for _, name := range names {
		b.sql(`UPDATE conductors SET heartbeat_at = heartbeat_at - interval '1 hour', polled_at = polled_at - interval '1 hour' WHERE hostname = $1`, name)
	}
}

// lastOperation is the newest one of a node.
func (b *bench) lastOperation(ident string) node.Operation {
	b.t.Helper()
	ops, err := b.store.Operations(context.Background(), node.OperationFilter{Node: ident, Limit: 1})
	require.NoError(b.t, err)
	require.Len(b.t, ops, 1)
	return ops[0]
}

// None of this needs a conductor, an orchestrator or Temporal.
func TestWhatNobodyWorksOnIsEndedFromTheDatabaseAlone(t *testing.T) {
	b := orphaned(t)
	begun := func(name string) {
		b.sql(`UPDATE operations SET claim_seq = 4, claim_attempt = 2, undo = '["eject media"]', steps = jsonb_set(steps, '{1,started_at}', '"2026-01-01T00:00:00Z"')
			WHERE node_name = $1`, name)
	}
	for name, c := range map[string]struct {
		in     node.State
		verb   string // "" = by its number
		to     node.State
		follow bool
	}{
		"deploying-cancelled":  {node.Deploying, "", node.DeployFailed, false},
		"deploying-aborted":    {node.Deploying, "abort", node.DeployFailed, false},
		"deploying-deleted":    {node.Deploying, "deleted", node.Deleting, true},
		"waiting-cancelled":    {node.DeployWait, "", node.DeployFailed, false},
		"waiting-aborted":      {node.DeployWait, "abort", node.DeployFailed, false},
		"waiting-deleted":      {node.DeployWait, "deleted", node.Deleting, true},
		"holding-aborted":      {node.DeployHold, "abort", node.DeployFailed, false},
		"cleaning-aborted":     {node.Cleaning, "abort", node.CleanFailed, false},
		"clean-wait-aborted":   {node.CleanWait, "abort", node.CleanFailed, false},
		"inspecting-aborted":   {node.Inspecting, "abort", node.InspectFailed, false},
		"inspect-wait-aborted": {node.InspectWait, "abort", node.InspectFailed, false},
		"verifying-cancelled":  {node.Verifying, "", node.Enroll, false},
		"deleting-cancelled":   {node.Deleting, "", node.ErrorState, false},
	} {
		t.Run(name, func(t *testing.T) {
			b.withConductors().in(name, c.in)
			begun(name)
			b.killed("c1", "c2")
			before := b.lastOperation(name)
			if c.verb == "" {
				shown := b.post("/temper/v1/operations/"+id(before.ID)+"/cancel", map[string]any{"reason": "enough"}).is(202)
				require.Equal(t, "ended", shown["state"])
			} else {
				a := b.put("/v1/nodes/"+name+"/states/provision", map[string]any{"target": c.verb})
				a.is(202)
				require.Equal(t, id(before.ID), a.header.Get("Temper-Operation"))
			}
			shown := b.get("/v1/nodes/" + name).is(200)
			require.Equal(t, string(c.to), shown["provision_state"])
			ended, err := b.store.Operation(t.Context(), before.ID)
			require.NoError(t, err)
			require.Equal(t, node.Ended, ended.Phase)
			require.Equal(t, node.Cancelled, ended.Outcome)
			require.Equal(t, node.Claim{Seq: 5}, ended.Claim, "who comes back from the dead holds nothing")
			n, err := b.store.Node(t.Context(), name)
			require.NoError(t, err)
			require.Contains(t, n.Owed, node.UndoEjectMedia)
			require.Contains(t, strings.Join(b.ops.toldWhat(), "\n"), "cancel "+id(before.ID), "its workflow is told, if there is one")
			if !c.follow {
				require.Nil(t, n.Operation)
				require.Nil(t, shown["reservation"])
				require.Contains(t, n.LastError, "By request")
				require.Contains(t, n.LastError, "still to be undone")
				return
			}
			require.Equal(t, node.KindUndeploy, n.Operation.Kind)
			require.Equal(t, n.Operation.ID, ended.FollowUp)
			require.Contains(t, b.ops.startedIDs(), n.Operation.ID)
			require.Equal(t, "available", shown["target_provision_state"])
		})
	}
}

func TestWhatSomebodyWorksOnIsAsked(t *testing.T) {
	b := orphaned(t)
	b.in("busy", node.Deploying)
	b.killed("c2")
	o := b.lastOperation("busy")
	require.Contains(t, b.put("/v1/nodes/busy/states/provision", map[string]any{"target": "abort"}).fails(409), "is locked by host c1")
	shown := b.post("/temper/v1/operations/"+id(o.ID)+"/cancel", map[string]any{}).is(202)
	require.Equal(t, "cancel", shown["asked"])
	require.Equal(t, "running", shown["state"])
}

// Nobody works on a step that is put off, so that nothing has to be waited for; but there is who can undo.
func TestAnOperationWhoseStepIsPutOffIsEndedFromEveryState(t *testing.T) {
	b := newBench(t).withConductors()
	for name, c := range map[string]struct {
		in   node.State
		verb string
		ask  string
		to   node.State
	}{
		"put-off-deploying-aborted": {node.Deploying, "abort", "cancel", node.Deploying},
		"put-off-deploying-deleted": {node.Deploying, "deleted", "delete", node.Deleting},
		"put-off-waiting-aborted":   {node.DeployWait, "abort", "cancel", node.DeployWait},
		"put-off-cleaning-aborted":  {node.Cleaning, "abort", "cancel", node.Cleaning},
	} {
		t.Run(name, func(t *testing.T) {
			b.in(name, c.in)
			b.sql(`UPDATE operations SET phase = 'waiting', stalled = 'deaths', stalled_at = clock_timestamp() WHERE node_name = $1 AND ended_at IS NULL`, name)
			o := b.lastOperation(name)
			b.put("/v1/nodes/"+name+"/states/provision", map[string]any{"target": c.verb}).is(202)
			now := b.lastOperation(name)
			require.Nil(t, now.EndedAt)
			require.Equal(t, o.ID, now.ID)
			require.Equal(t, c.ask, string(now.Asked))
			require.Equal(t, string(c.to), b.get("/v1/nodes/" + name).is(200)["provision_state"])
			require.Contains(t, strings.Join(b.ops.toldWhat(), "\n"), "cancel "+id(o.ID), "its workflow undoes and ends it")
		})
	}
}

func TestANodeInMaintenanceThatNobodyWorksOnCanBeDeleted(t *testing.T) {
	b := orphaned(t)
	b.in("gone", node.Deploying)
	o := b.lastOperation("gone")
	b.killed("c1", "c2")
	b.delete("/v1/nodes/gone").fails(409)
	b.put("/v1/nodes/gone/maintenance", nil).is(202)
	b.delete("/v1/nodes/gone").is(204)
	got, err := b.store.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, node.Cancelled, got.Outcome)
	_, err = b.store.Claim(t.Context(), o.ID, "run", node.Claim{Seq: 9, Attempt: 1}, time.Time{}, "c1")
	require.True(t, fault.Is(err, fault.Lost), "%v", err)
}

func TestANodeThatNobodyCoversCanBeMovedInTheMiddle(t *testing.T) {
	b := orphaned(t)
	b.in("stuck", node.DeployWait)
	move := replace("/conductor_group", "other")
	require.Contains(t, b.patch("/v1/nodes/stuck", move).fails(409), "while a state transition is in progress")
	b.killed("c1", "c2")
	b.patch("/v1/nodes/stuck", move).fails(503)
	b.conductor("o1", "other", "fake-hardware")
	b.patch("/v1/nodes/stuck", replace("/resource_class", "gold")).fails(409)
	b.ops.fail = nil
	b.patch("/v1/nodes/stuck", move).is(200)
	o := b.lastOperation("stuck")
	require.Equal(t, "other", o.Group, "its steps go there")
	require.Nil(t, o.EndedAt)
	require.Contains(t, strings.Join(b.ops.toldWhat(), "\n"), "nudge "+id(o.ID))
	require.Equal(t, "wait call-back", b.field("stuck", "provision_state"))
	b.patch("/v1/nodes/stuck", replace("/conductor_group", "")).fails(409)
}

func id(n int64) string { return strconv.FormatInt(n, 10) }
