package activities

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// WorkflowStarter starts an operation's workflow. Started already is success.
type WorkflowStarter interface {
	Start(ctx context.Context, o *node.Operation) error
}

// WorkflowDescriber asks Temporal. Known is false only where Temporal itself says that
// there is no such workflow in a namespace that is there.
type WorkflowDescriber interface {
	Status(ctx context.Context, workflowID, runID string) (node.RunStatus, error)
	// Open are the runs that are open, as Temporal lists them: one that closed a
	// moment ago may be among them.
	Open(ctx context.Context) (map[string]bool, error)
}
