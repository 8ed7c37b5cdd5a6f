package admission

import (
	"fmt"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// Retry returns the request that repeats old, an operation of n that has ended. The steps are
// planned again; those that old has done and whose effect lasts count as done. newest says
// that no operation has provisioned n since; reservation is as in Verb. The caller copies the
// secrets of the old steps' arguments. Errors are those of Verb and plan.Steps, and
// fault.Conflict if old is still open.
func Retry(n *node.Node, old *node.Operation, newest bool, reservation string, o plan.Options) (*node.Request, error) {
	switch {
	case old.EndedAt != nil:
	case old.Phase == node.Undoing:
		return nil, fault.New(fault.Conflict, "Operation %d of node %s is still open: what it did is being undone.", old.ID, n.UUID)
	default:
		return nil, fault.New(fault.Conflict, "Operation %d of node %s is still open.", old.ID, n.UUID)
	}
	d, err := MayRetry(n, old, reservation)
	switch {
	case err != nil:
		return nil, err
	case old.Kind.Spec().Undoes:
		return retryUndo(n, old)
	}
	var asked []node.Step
	for _, s := range old.Steps {
		if s.Asked {
			asked = append(asked, node.Step{Interface: s.Interface, Step: s.Step, Priority: s.Priority, Args: s.Args, Asked: true})
		}
	}
	o.Power = old.PowerTarget
	if len(old.Steps) > 0 {
		o.BootDevice = old.Steps[0].BootDevice()
		o.Args = old.Steps[0].Args
		o.Vendor = node.VendorCall{Method: old.Steps[0].Step, Args: old.Steps[0].Args}
	}
	o.RescuePassword, o.RescueKeys = old.RescuePassword(), old.RescueKeys()
	o.DisableRamdisk = old.Kind.Spec().AskedOnly && !node.BootsAgent(old.Steps)
	steps, err := plan.Steps(d.Open, n, asked, o)
	if err != nil {
		return nil, err
	}
	if newest && old.Outcome != node.Succeeded {
		steps = plan.CarryOver(steps, old)
	}
	return &node.Request{
		Open: &node.Operation{
			Kind: d.Open, Target: d.Target, Steps: steps, PowerTarget: old.PowerTarget, SoftTimeout: old.SoftTimeout,
			RetryOf: old.ID, OnFailure: old.OnFailure,
		},
		Move: d.Move, Event: fmt.Sprintf("%s accepted, a retry of operation %d", d.Open, old.ID), Apply: d.Apply,
	}, nil
}

// retryUndo undoes what the node owes now, even if the hardware refused it for good
// or the next try of reconciliation is some minutes away.
func retryUndo(n *node.Node, old *node.Operation) (*node.Request, error) {
	open, err := plan.FollowUp(n, nil, node.KindUndo, "", node.Defaults{})
	if err != nil {
		return nil, err
	}
	open.RetryOf = old.ID
	return &node.Request{
		Open: open, Event: fmt.Sprintf("undo accepted, a retry of operation %d", old.ID),
		Apply: func(n *node.Node) { n.OwedRefused = false },
	}, nil
}

// MayRetry decides whether old, an operation of n that has ended, may be repeated while n is
// as it is, whatever its steps and whoever covers it; reservation and errors are as in Retry.
func MayRetry(n *node.Node, old *node.Operation, reservation string) (Effect, error) {
	k := old.Kind.Spec()
	switch {
	case n.Operation != nil:
		return Effect{}, node.Locked(n, reservation)
	case k.Undoes && len(n.Owed) == 0:
		return Effect{}, fault.New(fault.NotAllowed, "Node %s no longer owes what operation %d was to undo.", n.UUID, old.ID)
	case k.Undoes:
		return Effect{Open: node.KindUndo}, nil
	case k.PowerChange:
		return Power(n, old.PowerTarget, reservation)
	case old.Kind == node.KindVendorPassthru && len(old.Steps) > 0:
		return Vendor(n, old.Steps[0].Step, reservation)
	case k.Management:
		return Management(n, old.Kind, reservation)
	}
	v := old.Kind.Verb()
	d, err := Verb(n, v, reservation)
	if err == nil && d.Open != old.Kind {
		err = notPerformed(fault.StateNotAllowed, v.Target, n.UUID, string(n.ProvisionState))
	}
	return d, err
}
