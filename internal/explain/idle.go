package explain

import (
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// idle explains a node without an open operation.
func (e *Explanation) idle(n *node.Node, f Facts) {
	e.What, e.why = string(n.ProvisionState), ", nobody holds it"
	failed := n.LastError != "" && (node.Fails(n.ProvisionState) || n.ProvisionState == node.ErrorState || n.ProvisionState == node.Enroll)
	if failed {
		e.why += ": " + finding.CleanOf(f.Previous, n.LastError)
		e.canRetry(n, f.Previous, f)
		if o := f.Previous; o != nil && o.Outcome != node.Succeeded {
			e.Cause, e.advises = e.causeOf(o), true
		}
	}
	if o := f.Newest; o != nil && o.PowerFailedLately(f.Now) {
		e.Trouble = append(e.Trouble, fmt.Sprintf("Operation %d (%s) failed at %s: %s", o.ID, o.Kind, text.Moment(*o.EndedAt), finding.Clean(o.Error)))
		if !failed {
			e.Cause, e.advises = e.causeOf(o), true
		}
		e.canRetry(n, o, f)
	}
	if len(n.Owed) > 0 {
		e.owed(n, f)
		e.canRetry(n, f.Undo, f)
		defer e.can(help.Action{Do: fault.WaiveUndo})
	}
	e.chooseRetry(n)
	for _, v := range node.Verbs {
		if v.Kind == "" && v.Event != node.EventManage || v.Event == node.EventRebuild || !admits(n, v, f) {
			continue
		}
		if v.Kind != "" && n.ProvisionState == node.Active {
			continue // nothing is wrong that the end of its instance would mend, or a reboot of its server into the ramdisk
		}
		if v.Event == node.EventDeploy && n.LacksImage() {
			e.can(help.Action{Do: fault.DeployImage, Event: v.Event})
			continue
		}
		e.can(help.Action{Do: fault.ChangeState, Event: v.Event})
	}
}

// canRetry adds the retry of o, which has ended, if it would be accepted; o may be nil.
func (e *Explanation) canRetry(n *node.Node, o *node.Operation, f Facts) {
	if o == nil || o.Outcome == node.Succeeded {
		return
	}
	if !f.Covered { // it could not be retried, but what it failed of can be mended
		e.canMend(n, o)
		return
	}
	_, refused := admission.MayRetry(n, o, "")
	if refused != nil {
		free := *n
		free.Maintenance = false
		if _, err := admission.MayRetry(&free, o, ""); err != nil {
			return
		}
	}
	e.canMend(n, o)
	switch {
	case refused != nil && n.MaintenanceEnds() != "": // by the maintenance alone
		e.afterwards = fmt.Sprintf("; then operation %d (%s) can be retried", o.ID, o.Kind)
		return
	case refused != nil:
		e.can(help.Action{Do: fault.EndMaintenance})
	}
	e.can(help.Action{Do: fault.RetryOperation, Operation: o.ID, Kind: o.Kind})
}

// chooseRetry says which retry does what, if there are several.
func (e *Explanation) chooseRetry(n *node.Node) {
	undo := slices.ContainsFunc(e.Actions, func(a help.Action) bool { return a.Do == fault.RetryOperation && a.Kind.Spec().Undoes })
	var which []string
	for _, a := range e.Actions {
		if a.Do != fault.RetryOperation {
			continue
		}
		k, does := a.Kind.Spec(), "does its work again"
		switch {
		case k.Undoes:
			does = "does only the undo"
		case k.PowerChange:
			does = "only changes the power"
		case undo && k.UsesAgent(n):
			does += ", and the undo with it"
		case undo:
			does += ", and leaves the undo as it is"
		}
		which = append(which, fmt.Sprintf("operation %d (%s) %s", a.Operation, a.Kind, does))
	}
	if len(which) > 1 {
		e.choosing = "Retry one of them: " + strings.Join(which, "; ")
	}
}

// admits reports whether the verb would be accepted for a node without an open operation.
func admits(n *node.Node, v node.Verb, f Facts) bool {
	if f.Supports != nil && v.Kind != "" && !f.Supports(v.Kind) {
		return false
	}
	d, err := admission.Verb(n, v, "")
	return err == nil && (f.Covered || d.Open == "")
}

// owed says what earlier operations left to be undone, why it is not done yet, and when
// it is tried again.
func (e *Explanation) owed(n *node.Node, f Facts) {
	isTold := strings.Contains(e.why, finding.Clean(n.OwedError)) || f.Undo != nil && fault.SameReach(f.Undo.Cause, e.Cause)
	switch {
	case n.OwedRefused:
		because := ""
		if !isTold {
			because = text.Because(finding.Clean(n.OwedError))
		}
		e.Trouble = append(e.Trouble, fmt.Sprintf("The hardware refused the undo of earlier work: %s%s. The undo is tried again only when somebody retries it, "+
			"changes how the BMC is reached, or starts an operation that boots the node anew; everything else goes on", node.UndoList(n.Owed), because))
		return
	case !isTold:
		e.Trouble = append(e.Trouble, "The last try to undo what earlier work left failed: "+finding.Clean(n.OwedError))
	}
	e.Next = "an undo of what earlier work left: " + node.UndoList(n.Owed)
	switch {
	case n.Maintenance && !n.MaintenanceByFault:
		e.WaitingFor = "the end of maintenance"
	case !f.Covered:
		e.WaitingFor = node.WaitsForConductor(n.ConductorGroup, n.Driver)
	}
	if late := f.System.Unreconciled(); late != "" && f.System.Away() == "" {
		e.Trouble = append(e.Trouble, late)
	}
}
