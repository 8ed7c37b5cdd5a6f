package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/closing"
	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestWhatFollowsBelongsToTheRequestBeforeIt(t *testing.T) {
	n := &Node{ProvisionState: Deleting, Maintenance: true, Interfaces: map[string]string{"deploy": "fake"}}
	defaults := Defaults{AutomatedClean: true, OnFailure: FailOnFailure}
	o, err := plan.FollowUp(n, &Operation{Kind: KindDeploy, OnFailure: HoldOnFailure}, KindUndeploy, "ann", defaults)
	require.NoError(t, err)
	require.Equal(t, []any{KindUndeploy, Available, Deleting, "ann", HoldOnFailure}, []any{o.Kind, o.Target, o.Origin, o.RequestedBy, o.OnFailure})
	require.NotEmpty(t, o.Steps)
	require.True(t, o.Paused, "the maintenance came after the request")

	o, err = plan.FollowUp(n, &Operation{Kind: KindDeploy, InMaintenance: true}, KindUndeploy, "", defaults)
	require.NoError(t, err)
	require.Equal(t, []any{true, false, FailOnFailure}, []any{o.InMaintenance, o.Paused, o.OnFailure})

	o, err = plan.FollowUp(n, nil, KindUndo, "reconciliation", Defaults{})
	require.NoError(t, err)
	require.Equal(t, []any{KindUndo, State(""), false}, []any{o.Kind, o.Target, o.Paused})
	require.Equal(t, StepUndo, o.Steps[0].Step)

	_, err = plan.FollowUp(n, nil, KindDeploy, "", Defaults{})
	require.Error(t, err)
}

func TestTheEndOfAnAbandonedOperation(t *testing.T) {
	defaults := Defaults{AutomatedClean: true}
	for ask, want := range map[Ask]Outcome{
		AskNone: Failed, AskPower: Failed, AskUnhold: Failed, AskCancel: Cancelled, AskAbort: Cancelled, AskDelete: Cancelled,
	} {
		o := &Operation{ID: 7, RunID: "r", Kind: KindPower, Asked: ask}
		require.Equal(t, End{Operation: 7, RunID: "r", Outcome: want, Error: "why", By: "ann", Abandoned: true, Defaults: defaults},
			o.EndAbandoned("ann", Failure{Error: "why"}, defaults), ask)
	}
	n := &Node{ProvisionState: Deploying, Operation: &Operation{Kind: KindDeploy, Target: Active, Undo: []Undo{UndoEjectMedia}}}
	e, err := closing.Operation(n, n.Operation.EndAbandoned("", Failure{Error: "its workflow was terminated"}, defaults))
	require.NoError(t, err)
	require.Equal(t, []Undo{UndoEjectMedia}, e.Owed)
	now := n.Operation.AcceptedAt
	n.Operation.Steps = []Step{{StartedAt: &now}}
	e, err = closing.Operation(n, n.Operation.EndAbandoned("", Failure{Error: "its workflow was terminated"}, defaults))
	require.NoError(t, err)
	require.Equal(t, []Undo{UndoEjectMedia, UndoPowerOff}, e.Owed, "a deploy that has begun leaves the server on")
}
