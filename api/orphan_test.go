package api_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// orphaned returns an API whose conductors were killed a while ago, and whose Temporal
// does not answer.
func orphaned(t *testing.T) *apitest.Bench {
	b := apitest.New(t).WithConductors()
	b.Operations.Err = fault.New(fault.Unavailable, "no Temporal")
	return b
}

// None of this needs a conductor, an orchestrator or Temporal.
func TestWhatNobodyWorksOnIsEndedFromTheDatabaseAlone(t *testing.T) {
	t.Parallel()
	b := orphaned(t)
	begun := func(name string) {
		b.SQL(`UPDATE operations SET claim_seq = 4, claim_attempt = 2, undo = '["eject media"]', steps = jsonb_set(steps, '{1,started_at}', '"2026-01-01T00:00:00Z"')
			WHERE node_name = $1`, name)
	}
	for name, c := range map[string]struct {
		in     node.State
		verb   string // "" = the operation is cancelled by its id
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
			b.WithConductors().In(name, c.in)
			begun(name)
			b.Kill("c1", "c2")
			before := b.LastOperation(name)
			if c.verb == "" {
				shown := b.Post("/temper/v1/operations/"+strconv.FormatInt(before.ID, 10)+"/cancel", map[string]any{"reason": "enough"}).Is(202)
				require.Equal(t, "ended", shown["state"])
			} else {
				a := b.Put("/v1/nodes/"+name+"/states/provision", map[string]any{"target": c.verb})
				a.Is(202)
				require.Equal(t, strconv.FormatInt(before.ID, 10), a.Header.Get("Temper-Operation"))
			}
			shown := b.Get("/v1/nodes/" + name).Is(200)
			require.Equal(t, string(c.to), shown["provision_state"])
			ended, err := b.Store.Operation(t.Context(), before.ID)
			require.NoError(t, err)
			require.Equal(t, node.Ended, ended.Phase)
			require.Equal(t, node.Cancelled, ended.Outcome)
			require.Equal(t, node.Claim{Seq: 5}, ended.Claim, "who comes back from the dead holds nothing")
			n, err := b.Store.Node(t.Context(), name)
			require.NoError(t, err)
			require.Contains(t, n.Owed, node.UndoEjectMedia)
			require.Contains(t, strings.Join(b.Operations.Told(), "\n"), "cancel "+strconv.FormatInt(before.ID, 10), "its workflow is told, if there is one")
			if !c.follow {
				require.Nil(t, n.Operation)
				require.Nil(t, shown["reservation"])
				require.Contains(t, n.LastError, "By request")
				require.Contains(t, n.LastError, "still to be undone")
				return
			}
			require.Equal(t, node.KindUndeploy, n.Operation.Kind)
			require.Equal(t, n.Operation.ID, ended.FollowUp)
			require.Contains(t, b.Operations.Started(), n.Operation.ID)
			require.Equal(t, "available", shown["target_provision_state"])
		})
	}
}

func TestWhatSomebodyWorksOnIsAsked(t *testing.T) {
	t.Parallel()
	b := orphaned(t)
	b.In("busy", node.Deploying)
	b.Kill("c2")
	o := b.LastOperation("busy")
	require.Contains(t, b.Put("/v1/nodes/busy/states/provision", map[string]any{"target": "abort"}).Fails(409), "is locked by host c1")
	shown := b.Post("/temper/v1/operations/"+strconv.FormatInt(o.ID, 10)+"/cancel", map[string]any{}).Is(202)
	require.Equal(t, "cancel", shown["asked"])
	require.Equal(t, "running", shown["state"])
}

// No conductor works on a step that is put off, so the request waits for nobody. But conductors are alive, so the workflow
// does the undo and ends the operation.
func TestAnOperationWhoseStepIsPutOffIsEndedFromEveryState(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
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
			b.In(name, c.in)
			b.SQL(`UPDATE operations SET phase = 'waiting', stalled = 'deaths', stalled_at = clock_timestamp() WHERE node_name = $1 AND ended_at IS NULL`, name)
			o := b.LastOperation(name)
			b.Put("/v1/nodes/"+name+"/states/provision", map[string]any{"target": c.verb}).Is(202)
			now := b.LastOperation(name)
			require.Nil(t, now.EndedAt)
			require.Equal(t, o.ID, now.ID)
			require.Equal(t, c.ask, string(now.Asked))
			require.Equal(t, string(c.to), b.Get("/v1/nodes/" + name).Is(200)["provision_state"])
			require.Contains(t, strings.Join(b.Operations.Told(), "\n"), "cancel "+strconv.FormatInt(o.ID, 10), "its workflow undoes and ends it")
		})
	}
}
