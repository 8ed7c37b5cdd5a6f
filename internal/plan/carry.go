package plan

import (
	"fmt"
	"slices"

	"go.temper.dev/temper/internal/node"
)

// CarryOver marks the steps of a new plan that old has done and whose effect
// lasts. Steps of the agent that old's agent brought are put in their place, so
// that the new one's are not run again.
func CarryOver(steps []node.Step, old *node.Operation) []node.Step {
	image := slices.IndexFunc(old.Steps, func(s node.Step) bool { return s.Rule().WritesDisk })
	for i, s := range old.Steps {
		carried := s.State == node.StepSkipped && s.Note != ""
		if s.State != node.StepDone && !carried || !s.Rule().Lasts || image >= 0 && i >= image {
			continue
		}
		note := s.Note
		if !carried {
			note = fmt.Sprintf("done by operation %d", old.ID)
		}
		at := slices.IndexFunc(steps, func(p node.Step) bool { return p.Name() == s.Name() && p.State == node.StepPending })
		switch {
		case at >= 0:
			steps[at].State, steps[at].Note = node.StepSkipped, note
		case s.Source == node.SourceAgent:
			steps = putAgentStep(steps, node.Step{
				Interface: s.Interface, Step: s.Step, Priority: s.Priority, Args: s.Args, Abortable: s.Abortable,
				Source: node.SourceAgent, Asked: s.Asked, Cleaning: s.Cleaning, State: node.StepSkipped, Note: note,
			})
		}
	}
	return numberSteps(steps)
}

// putAgentStep puts a step where the agent's are merged in: before the step that
// ends the cleaning, or by its priority.
func putAgentStep(steps []node.Step, s node.Step) []node.Step {
	at := slices.IndexFunc(steps, func(p node.Step) bool {
		if p.Source == node.SourceCore {
			return p.Rule().Last
		}
		return p.Priority < s.Priority
	})
	if at < 0 {
		at = len(steps)
	}
	return slices.Insert(steps, at, s)
}
