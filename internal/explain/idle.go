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
func (v *view) idle() {
	n, f := v.n, v.f
	if n.Operation != nil {
		return
	}
	p := finding.Params{"state": string(n.ProvisionState)}
	failed := n.LastError != "" && (node.Fails(n.ProvisionState) || n.ProvisionState == node.ErrorState || n.ProvisionState == node.Enroll)
	if failed {
		p["error"] = finding.CleanOf(f.Previous, n.LastError)
	}
	v.find(finding.Idle, p)
	if failed {
		v.canRetry(f.Previous)
		if o := f.Previous; o != nil && o.Outcome != node.Succeeded {
			v.Cause, v.advises = v.causeOf(o), true
		}
	}
	if o := f.Newest; o != nil && o.PowerFailedLately(f.Now) {
		v.find(finding.PowerFailed, finding.Params{"operation": o.ID, "kind": o.Kind, "at": text.Moment(*o.EndedAt), "error": finding.Clean(o.Error)})
		if !failed {
			v.Cause, v.advises = v.causeOf(o), true
		}
		v.canRetry(o)
	}
	if len(n.Owed) > 0 {
		v.owed()
		v.canRetry(f.Undo)
		defer v.can(help.Action{Do: fault.WaiveUndo})
	}
	v.chooseRetry()
	v.canAsk()
}

// canAsk adds what may be asked of a node that nobody holds.
func (v *view) canAsk() {
	n := v.n
	for _, verb := range node.Verbs {
		back := verb.Event == node.EventAbort && n.ProvisionState == node.ServiceFailed
		if verb.Kind == "" && verb.Event != node.EventManage && !back || verb.Event == node.EventRebuild || !admits(n, verb, v.f) {
			continue
		}
		if verb.Kind.Spec().AskedOnly {
			continue // only whoever asks knows which steps
		}
		if verb.Event == node.EventAdopt && n.ProvisionState == node.Manageable {
			continue // only whoever knows that the server runs its instance already can want that
		}
		if verb.Kind != "" && n.ProvisionState == node.Active {
			continue // nothing is wrong that the end of its instance would mend, or a reboot of its server into the ramdisk
		}
		do := fault.ChangeState
		if verb.Event == node.EventDeploy && n.LacksImage() {
			do = fault.DeployImage
		}
		v.can(help.Action{Do: do, Event: verb.Event})
	}
}

// canRetry adds the retry of o, which has ended, if it would be accepted; o may be nil.
func (v *view) canRetry(o *node.Operation) {
	n := v.n
	if o == nil || o.Outcome == node.Succeeded {
		return
	}
	if !v.f.Covered { // it could not be retried, but what it failed of can be mended
		v.canMend(o)
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
	v.canMend(o)
	switch {
	case refused != nil && n.MaintenanceEnds() != "": // by the maintenance alone
		v.retryLater = o
		return
	case refused != nil:
		v.can(help.Action{Do: fault.EndMaintenance})
	}
	v.can(help.Action{Do: fault.RetryOperation, Operation: o.ID, Kind: o.Kind})
}

// chooseRetry says which retry does what, if there are several.
func (v *view) chooseRetry() {
	undo := slices.ContainsFunc(v.Actions, func(a help.Action) bool { return a.Do == fault.RetryOperation && a.Kind.Spec().Undoes })
	var which []string
	for _, a := range v.Actions {
		if a.Do != fault.RetryOperation {
			continue
		}
		k, does := a.Kind.Spec(), "does its work again"
		switch {
		case k.Undoes:
			does = "does only the undo"
		case k.PowerChange:
			does = "only changes the power"
		case undo && k.UsesAgent(v.n):
			does += ", and the undo with it"
		case undo:
			does += ", and leaves the undo as it is"
		}
		which = append(which, fmt.Sprintf("operation %d (%s) %s", a.Operation, a.Kind, does))
	}
	if len(which) > 1 {
		v.find(finding.ChooseRetry, finding.Params{"which": strings.Join(which, "; ")})
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
func (v *view) owed() {
	n, f, err := v.n, v.f, finding.Clean(v.n.OwedError)
	if v.found(err) || f.Undo != nil && fault.SameReach(f.Undo.Cause, v.Cause) {
		err = ""
	}
	if n.OwedRefused {
		v.find(finding.UndoRefused, finding.Params{"undo": node.UndoList(n.Owed), "error": err})
		return
	}
	if err != "" {
		v.find(finding.UndoFailed, finding.Params{"error": err})
	}
	v.find(finding.UndoNext, finding.Params{"undo": node.UndoList(n.Owed)})
	switch {
	case n.Maintenance && !n.MaintenanceByFault:
		v.find(finding.WaitsFor, finding.Params{"for": "the end of maintenance"})
	case !f.Covered:
		v.find(finding.WaitsFor, finding.Params{"for": node.WaitsForConductor(n.ConductorGroup, n.Driver)})
	}
	if late := f.System.Unreconciled(); late != "" && f.System.Away() == "" {
		v.find(finding.Unreconciled, finding.Params{"sentence": late})
	}
}
