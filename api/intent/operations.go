package intent

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// Operations starts and steers the workflows of operations, and reads from BMCs. It is called after the commit. The row of the
// operation is what counts: if a call fails, the error is logged, and reconciliation does
// what it should have done.
type Operations interface {
	// Start starts the workflow of an operation that was just committed.
	Start(ctx context.Context, o *node.Operation) error
	// Cancel asks the workflow of o to stop and undo.
	Cancel(ctx context.Context, o *node.Operation, reason string) error
	// Nudge tells the workflow of o to read its row again, because somebody asked for
	// something or an agent came up.
	Nudge(ctx context.Context, o *node.Operation) error
	// Decide gives the workflow of o, which holds at a step that failed, a decision, and
	// returns when the workflow has accepted it. The error is fault.Conflict, NotAllowed or
	// Invalid if the workflow refuses, fault.Unavailable if it does not answer in time, and
	// fault.Lost if it has ended.
	Decide(ctx context.Context, o *node.Operation, a node.Action, by, reason string) error
	// Status returns what Temporal knows of o's run, or of the newest run if o.RunID is "".
	// The error says that Temporal could not be asked.
	Status(ctx context.Context, o *node.Operation) (node.RunStatus, error)
	// Unpause unpauses o's workflow or its activity in Temporal. It does nothing if
	// neither is paused.
	Unpause(ctx context.Context, o *node.Operation, by, reason string) error
	// Await returns when the workflow of o has ended, or with an error when ctx ends or Temporal can't be asked.
	Await(ctx context.Context, o *node.Operation) error
	// Read has a conductor read something from n's BMC, of several the one with that id. ctx needs a deadline. The kind of the error is that of
	// the BMC's answer; fault.Unreachable if nobody answered, and fault.Unavailable if Temporal did not.
	Read(ctx context.Context, n *node.Node, what node.Reading, id string) (node.BMCReading, error)
	// Terminate ends the workflow of o without letting it do anything.
	Terminate(ctx context.Context, o *node.Operation, reason string) error
}

// Drivers checks what is said about a BMC without touching it.
type Drivers interface {
	// Validate checks driver_info; fault.Invalid names what is missing or wrong.
	Validate(driver string, info map[string]any) error
}
