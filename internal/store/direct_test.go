package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestAnOperationIsHeldAndDecidedAbout(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	o, err := s.Direct(t.Context(), o.ID, func(n *node.Node) (node.OperationChange, error) {
		op := n.Operation
		op.Steps[0].State, op.Steps[0].LastError = node.StepFailed, "no disk"
		op.Claim, op.Phase, op.WaitingFor, op.WaitingUntil = node.Claim{Seq: 2}, node.Holding, "a decision", &until
		n.LastError = "no disk"
		return node.OperationChange{Move: node.EventHold, Event: node.HistoryEvent{Event: "held", EventType: "error"}}, nil
	})
	require.NoError(t, err)
	require.NotNil(t, o.Undecided())
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.DeployHold, got.ProvisionState)
	require.Equal(t, node.Active, got.TargetProvisionState)
	require.Equal(t, "no disk", got.LastError)
	require.WithinDuration(t, until, *got.Operation.WaitingUntil, time.Millisecond)
	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{})
	kind(t, fault.Lost, err)

	ruling := node.DecisionRecord{At: until, Action: node.ActionRetry, By: "ann", Reason: "replaced", Step: "deploy.deploy"}
	o, err = s.Direct(t.Context(), o.ID, func(n *node.Node) (node.OperationChange, error) {
		n.Operation.Steps[0].Again()
		n.Operation.Decisions = append(n.Operation.Decisions, ruling)
		n.Operation.Phase = node.Running
		return node.OperationChange{Move: node.EventUnhold}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []node.DecisionRecord{ruling}, o.Decisions)
	require.Nil(t, o.Undecided())
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.DeployWait, got.ProvisionState)

	_, err = s.Direct(t.Context(), o.ID, func(n *node.Node) (node.OperationChange, error) {
		n.Operation.WaitingFor = "the agent"
		return node.OperationChange{}, nil
	})
	require.NoError(t, err)
	after, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, "the agent", after.Operation.WaitingFor)
	require.Equal(t, got.UpdatedAt, after.UpdatedAt, "the node has not changed")

	_, err = s.Direct(t.Context(), o.ID, func(*node.Node) (node.OperationChange, error) {
		return node.OperationChange{}, fault.New(fault.Conflict, "no")
	})
	kind(t, fault.Conflict, err)
	require.NoError(t, closeErr(s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Cancelled})))
	_, err = s.Direct(t.Context(), o.ID, func(*node.Node) (node.OperationChange, error) { return node.OperationChange{}, nil })
	kind(t, fault.Lost, err)
	_, err = s.Direct(t.Context(), 1<<40, func(*node.Node) (node.OperationChange, error) { return node.OperationChange{}, nil })
	kind(t, fault.NotFound, err)
}
