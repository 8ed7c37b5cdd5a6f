package node

import (
	"fmt"
	"slices"

	"go.temper.dev/temper/internal/fault"
)

// Retry is the request that does again what old, an operation of n that has
// ended, was to do: planned anew, with what it had done and what still holds
// counted as done. newest: no operation has provisioned n since. reservation as
// in Admit. Secrets of the old steps' arguments are the caller's to copy.
// Errors: those of Admit and Plan; Conflict where old is still open.
func Retry(n *Node, old *Operation, newest bool, reservation string, o PlanOptions) (*Request, error) {
	switch {
	case old.EndedAt == nil:
		return nil, fault.New(fault.Conflict, "Operation %d of node %s is still open.", old.ID, n.UUID)
	case old.Kind.Spec().Undoes:
		return retryUndo(n, old, reservation)
	}
	d, err := admitRetry(n, old, reservation)
	if err != nil {
		return nil, err
	}
	var asked []Step
	for _, s := range old.Steps {
		if s.Asked {
			asked = append(asked, Step{Interface: s.Interface, Step: s.Step, Priority: s.Priority, Args: s.Args, Asked: true})
		}
	}
	o.Power = old.PowerTarget
	o.DisableRamdisk = old.Kind.Spec().AskedOnly && !BootsAgent(old.Steps)
	steps, err := Plan(d.Open, n, asked, o)
	if err != nil {
		return nil, err
	}
	if newest && old.Outcome != Succeeded {
		steps = carryOver(steps, old)
	}
	return &Request{
		Open: &Operation{
			Kind: d.Open, Target: d.Target, Steps: steps, PowerTarget: old.PowerTarget, SoftTimeout: old.SoftTimeout,
			RetryOf: old.ID, OnFailure: old.OnFailure,
		},
		Move: d.Move, Event: fmt.Sprintf("%s accepted, a retry of operation %d", d.Open, old.ID), Apply: d.Apply,
	}, nil
}

// retryUndo undoes what the node owes now, even if the hardware refused it for good
// or the next try of reconciliation is some minutes away.
func retryUndo(n *Node, old *Operation, reservation string) (*Request, error) {
	switch {
	case n.Operation != nil:
		return nil, Locked(n, reservation)
	case len(n.Owed) == 0:
		return nil, fault.New(fault.NotAllowed, "Node %s no longer owes what operation %d was to undo.", n.UUID, old.ID)
	}
	open, err := FollowUp(n, nil, KindUndo, "", Defaults{})
	if err != nil {
		return nil, err
	}
	open.RetryOf = old.ID
	return &Request{
		Open: open, Event: fmt.Sprintf("undo accepted, a retry of operation %d", old.ID),
		Apply: func(n *Node) { n.OwedRefused = false },
	}, nil
}

func admitRetry(n *Node, old *Operation, reservation string) (Decision, error) {
	if n.Operation != nil {
		return Decision{}, Locked(n, reservation)
	}
	k := old.Kind.Spec()
	if k.PowerChange {
		return AdmitPower(n, old.PowerTarget, reservation)
	}
	d, err := Admit(n, VerbOf(k.Verb), reservation)
	if err == nil && d.Open != old.Kind {
		err = notPerformed(fault.StateNotAllowed, k.Verb, n.UUID, string(n.ProvisionState))
	}
	return d, err
}

// Again is the event of the request that opened an operation of kind k; "" = none
// of the life cycle.
func Again(k Kind) Event { return VerbOf(k.Spec().Verb).Event }

// carryOver marks the steps of a new plan that old has done and whose effect
// lasts. Steps of the agent that old's agent brought are put in their place, so
// that the new one's are not run again.
func carryOver(steps []Step, old *Operation) []Step {
	image := slices.IndexFunc(old.Steps, func(s Step) bool { return s.Rule().WritesDisk })
	for i, s := range old.Steps {
		carried := s.State == StepSkipped && s.Note != ""
		if s.State != StepDone && !carried || !s.Rule().Lasts || image >= 0 && i >= image {
			continue
		}
		note := s.Note
		if !carried {
			note = fmt.Sprintf("done by operation %d", old.ID)
		}
		at := slices.IndexFunc(steps, func(p Step) bool { return p.Name() == s.Name() && p.State == StepPending })
		switch {
		case at >= 0:
			steps[at].State, steps[at].Note = StepSkipped, note
		case s.Source == SourceAgent:
			steps = putAgentStep(steps, Step{
				Interface: s.Interface, Step: s.Step, Priority: s.Priority, Args: s.Args, Abortable: s.Abortable,
				Source: SourceAgent, Asked: s.Asked, Cleaning: s.Cleaning, State: StepSkipped, Note: note,
			})
		}
	}
	return number(steps)
}

// putAgentStep puts a step where the agent's are merged in: before the step that
// ends the cleaning, or by its priority.
func putAgentStep(steps []Step, s Step) []Step {
	at := slices.IndexFunc(steps, func(p Step) bool {
		if p.Source == SourceCore {
			return p.Rule().Last
		}
		return p.Priority < s.Priority
	})
	if at < 0 {
		at = len(steps)
	}
	return slices.Insert(steps, at, s)
}
