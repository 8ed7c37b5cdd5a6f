package explain

import (
	"slices"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
)

// can adds an action, once.
func (e *Explanation) can(a help.Action) {
	if !slices.Contains(e.Actions, a) {
		e.Actions = append(e.Actions, a)
	}
}

// canDecide adds the decisions that o's failed step allows. Its workflow takes them, so without Temporal or an orchestrator they
// would be refused.
func (e *Explanation) canDecide(o *node.Operation, step *node.Step) {
	if e.away != "" {
		e.Notes = append(e.Notes, decidable(e.away))
		e.can(help.Action{Do: fault.ShowStatus})
		return
	}
	for _, a := range step.Choices() {
		e.can(help.Action{Do: fault.Decide, Operation: o.ID, Decision: a})
	}
}
