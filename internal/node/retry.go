package node

import (
	"fmt"
	"slices"

	"go.temper.dev/temper/internal/fault"
)

// verbs are the words of states/provision that open an operation of a kind.
var verbs = map[Kind]string{
	KindManage: "manage", KindProvide: "provide", KindClean: "clean", KindInspect: "inspect",
	KindDeploy: "active", KindRebuild: "rebuild", KindUndeploy: "deleted",
}

// Retry is the request that does again what old, an operation of n that has
// ended, was to do: planned anew, with what it had done and what still holds
// counted as done. newest: no operation has provisioned n since. reservation as
// in Admit. Secrets of the old steps' arguments are the caller's to copy.
// Errors: those of Admit and Plan; Conflict where old is still open.
func Retry(n *Node, old *Operation, newest bool, reservation string, o PlanOptions) (*Request, error) {
	switch {
	case old.EndedAt == nil:
		return nil, fault.New(fault.Conflict, "Operation %d of node %s is still open.", old.ID, n.UUID)
	case old.Kind == KindUndo:
		return nil, fault.New(fault.NotAllowed, "Operation %d of node %s is an undo, which is tried again by itself.", old.ID, n.UUID)
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
	o.DisableRamdisk = old.Kind == KindClean && !slices.ContainsFunc(old.Steps, func(s Step) bool { return s.Step == StepPrepareCleaning })
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
		Move: d.Event, Event: fmt.Sprintf("%s accepted, a retry of operation %d", d.Open, old.ID), Apply: d.Apply,
	}, nil
}

func admitRetry(n *Node, old *Operation, reservation string) (Decision, error) {
	if n.Operation != nil {
		return Decision{}, Locked(n, reservation)
	}
	if old.Kind == KindPower {
		return AdmitPower(n, old.PowerTarget, reservation)
	}
	d, err := Admit(n, VerbOf(verbs[old.Kind]), reservation)
	if err == nil && d.Open != old.Kind {
		err = notPerformed(verbs[old.Kind], n.UUID, string(n.ProvisionState))
	}
	return d, err
}

// Again is the event of the request that opened an operation of kind k; "" = none
// of the life cycle.
func Again(k Kind) Event { return VerbOf(verbs[k]).Event }

// Apply writes what a decision says of the node's targets and errors.
func (d Decision) Apply(n *Node) {
	n.TargetProvisionState = d.Target
	if d.ClearError {
		n.LastError = ""
	}
	if d.Power != "" {
		n.TargetPowerState = d.TargetPower
	}
	if d.Steer == AskCancel && d.To != d.From {
		n.LastError = "By request, the operation was aborted"
	}
}

// carryOver marks the steps of a new plan that old has done and whose effect
// lasts. Steps of the agent that old's agent brought are put in their place, so
// that the new one's are not run again.
func carryOver(steps []Step, old *Operation) []Step {
	image := slices.IndexFunc(old.Steps, func(s Step) bool { return isDeploy(s, StepWriteImage) })
	for i, s := range old.Steps {
		carried := s.State == StepSkipped && s.Note != ""
		if s.State != StepDone && !carried || !lasting(s) || image >= 0 && i >= image {
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
			return p.Step == StepTearDownCleaning
		}
		return p.Priority < s.Priority
	})
	if at < 0 {
		at = len(steps)
	}
	return slices.Insert(steps, at, s)
}

// lasting: what the step did holds although the server was switched off since.
// Steps that frame an operation, make the deploy or switch the power do not.
func lasting(s Step) bool {
	switch {
	case s.Source == SourceCore, s.Interface == "inspect":
		return false
	case s.Step == StepPowerOn, s.Step == StepPowerOff, s.Step == StepReboot:
		return false
	}
	return s.Interface != "deploy" || !slices.Contains(unskippable, s.Step)
}
