package explain

import (
	"fmt"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// unusual begins the sentence about a step that takes unusually long.
const unusual = "It takes unusually long: "

// usual says how long the current step of o has run and how long it usually takes. If it takes
// unusually long, that is trouble.
func (e *Explanation) usual(o *node.Operation) {
	step := o.CurrentStep()
	if step == nil || step.Usual == nil || step.StartedAt == nil || step.State != node.StepRunning && step.State != node.StepWaiting {
		return
	}
	e.Usual = fmt.Sprintf("step %s runs for %s; %s", step.Name(), text.Ago(e.now, *step.StartedAt), step.Usual.Words())
	if o.PastUsual(e.now) {
		e.Trouble = append(e.Trouble, unusual+e.Usual)
	}
}
