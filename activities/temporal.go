package activities

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// WorkflowStarter starts an operation's workflow. It is no error if it was started before.
type WorkflowStarter interface {
	Start(ctx context.Context, o *node.Operation) error
}

// WorkflowDescriber asks Temporal about workflows.
type WorkflowDescriber interface {
	// Status returns the status of o's run, or of the newest run of its workflow if o.RunID is "". Known is
	// false only if the namespace exists and Temporal says that it has no such workflow, or none that is o's.
	Status(ctx context.Context, o *node.Operation) (node.RunStatus, error)
	// Open returns the ids of the open runs that Temporal lists, and of their workflows. The
	// list may lag: a run that has just closed may be in it.
	Open(ctx context.Context) (map[string]bool, error)
}
