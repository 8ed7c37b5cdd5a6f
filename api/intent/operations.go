package intent

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// Operations is how an intent that is written becomes work. The row is the
// truth: an error here is logged and left to reconciliation.
type Operations interface {
	// Start starts the workflow of an operation that was just committed.
	Start(ctx context.Context, o *node.Operation) error
	// Cancel asks the workflow of o to stop and undo.
	Cancel(ctx context.Context, o *node.Operation, reason string) error
	// Nudge tells the workflow of o to read its row: somebody asked for
	// something, or an agent came up.
	Nudge(ctx context.Context, o *node.Operation) error
	// Decide has the workflow of o, which holds at a step that failed, take a
	// decision, and returns when it has. fault.Conflict, NotAllowed or Invalid
	// where it refuses; fault.Unavailable where it can't be had in time, fault.Lost
	// where it has ended.
	Decide(ctx context.Context, o *node.Operation, a node.Action, by, reason string) error
	// Status is what Temporal knows of o's run, without RunID of the newest; an
	// error where it can't be asked.
	Status(ctx context.Context, o *node.Operation) (node.RunStatus, error)
	// Unpause unpauses o's workflow or its activity in Temporal. It does nothing if
	// neither is paused.
	Unpause(ctx context.Context, o *node.Operation, by, reason string) error
	// Terminate ends the workflow of o without letting it do anything.
	Terminate(ctx context.Context, o *node.Operation, reason string) error
}

// Drivers checks what is said about a BMC without touching it.
type Drivers interface {
	// Validate checks driver_info; fault.Invalid names what is missing or wrong.
	Validate(driver string, info map[string]any) error
}
