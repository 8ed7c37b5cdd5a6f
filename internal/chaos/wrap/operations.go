package wrap

import (
	"context"
	"time"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
)

// OrchestratorStore stops when a workflow has begun its operation, and around its closing.
func OrchestratorStore(l orchestrator.OperationStore) orchestrator.OperationStore {
	return &orchestratorStore{l}
}

type orchestratorStore struct{ orchestrator.OperationStore }

// Begin implements orchestrator.OperationStore.
func (l *orchestratorStore) Begin(ctx context.Context, operation int64, workflowID, runID string) (*node.Operation, error) {
	o, err := l.OperationStore.Begin(ctx, operation, workflowID, runID)
	if err == nil {
		chaos.At(ctx, chaos.Point{Name: chaos.Beginning, Operation: operation, Node: o.NodeUUID})
	}
	return o, err
}

// CloseOperation implements orchestrator.OperationStore.
func (l *orchestratorStore) CloseOperation(ctx context.Context, end node.End) (*node.Operation, error) {
	if !isActivity(ctx, "Close") { // reconciliation closes for others, and has no point of its own
		return l.OperationStore.CloseOperation(ctx, end)
	}
	at := chaos.Point{Name: chaos.Closing, Operation: end.Operation}
	if o, err := l.Operation(ctx, end.Operation); err == nil {
		at.Node = o.NodeUUID
		chaos.At(ctx, at)
	}
	next, err := l.OperationStore.CloseOperation(ctx, end)
	if err == nil && at.Node != "" {
		at.Name = chaos.Closed
		chaos.At(ctx, at)
	}
	return next, err
}

// Operations wraps o so that it stops between the commit of an operation and the start of its workflow, and before the
// client gets the answer.
func Operations(o api.Operations) api.Operations { return &operations{o} }

type operations struct{ api.Operations }

// Start implements api.Operations. The time for which it stops does not shorten the deadline of the start.
func (s *operations) Start(ctx context.Context, o *node.Operation) error {
	until, _ := ctx.Deadline()
	left := time.Until(until)
	chaos.At(ctx, chaos.Point{Name: chaos.Accepted, Operation: o.ID, Node: o.NodeUUID})
	start, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
	defer cancel()
	err := s.Operations.Start(start, o)
	chaos.At(start, chaos.Point{Name: chaos.Started, Operation: o.ID, Node: o.NodeUUID})
	return err
}
