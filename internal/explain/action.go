package explain

import (
	"slices"

	"go.temper.dev/temper/internal/node"
)

// Do names something that somebody can do. The names are stable.
type Do string

// What somebody can do.
const (
	WatchOperation   Do = "watch the operation"
	CancelOperation  Do = "cancel the operation"
	UnpauseOperation Do = "unpause the operation" // it is paused in Temporal
	Decide           Do = "decide"                // about the step that failed: Action.Decision
	RetryOperation   Do = "retry the operation"   // it has ended
	RecoverNode      Do = "recover the node"
	TakeNode         Do = "take the node" // recover it by force
	ChangeState      Do = "change the provision state"
	UnholdNode       Do = "unhold the node"
	EndMaintenance   Do = "end the maintenance"
	WaiveUndo        Do = "waive the undo"
	ChangeGroup      Do = "change the conductor group"
	ListConductors   Do = "list the conductors"
	SayTemporalLost  Do = "say that Temporal has lost its data"
)

// Dos lists everything that somebody can do.
var Dos = []Do{
	WatchOperation, CancelOperation, UnpauseOperation, Decide, RetryOperation, RecoverNode, TakeNode, ChangeState, UnholdNode,
	EndMaintenance, WaiveUndo, ChangeGroup, ListConductors, SayTemporalLost,
}

// Action is something that somebody can do about a node. Which fields are set depends on
// Do; the node is the one that is explained.
type Action struct {
	Do        Do
	Operation int64       // of WatchOperation, CancelOperation, UnpauseOperation, Decide, RetryOperation
	Decision  node.Action // of Decide
	Event     node.Event  // of ChangeState
	Group     string      // of ChangeGroup; "" = the default group
}

// Speedup is an action and its effect, which completes a sentence that begins with the
// action.
type Speedup struct {
	Action Action
	Effect string
}

// can adds an action, once.
func (e *Explanation) can(a Action) {
	if !slices.Contains(e.Actions, a) {
		e.Actions = append(e.Actions, a)
	}
}

// canDecide adds the decisions that o's failed step allows.
func (e *Explanation) canDecide(o *node.Operation, step *node.Step) {
	for _, a := range step.Choices() {
		e.can(Action{Do: Decide, Operation: o.ID, Decision: a})
	}
}
