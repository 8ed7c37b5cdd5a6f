package explain

import (
	"slices"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// ofReach are the remedies that change how the BMC is reached.
var ofReach = []fault.Do{fault.SetPassword, fault.SetAddress, fault.TrustBMC}

// ofImage are the remedies that change what is deployed, or to which disk, with what shows the disks.
var ofImage = []fault.Do{fault.SetImage, fault.SetDigest, fault.SetFormat, fault.SetRootDevice, fault.ShowInventory}

// mendBy replaces what the table of codes advises.
func (v *view) mendBy(code finding.Code, p finding.Params) {
	f := finding.Of(code, p)
	v.remedy = &f
}

// mended reports whether somebody has done such a remedy since something failed, and then advises to retry.
func (v *view) mended(do fault.Do, failed *time.Time) bool {
	n := v.n
	switch {
	case failed == nil:
		return false
	case slices.Contains(ofReach, do) && finding.Newer(n.ReachedSince, failed):
		v.mendBy(finding.RetryReachChanged, finding.Params{"at": n.ReachedSince})
	case slices.Contains(ofImage, do) && finding.Newer(n.PreparedSince, failed):
		v.mendBy(finding.RetryImageChanged, finding.Params{"at": n.PreparedSince})
	default:
		return false
	}
	return true
}

// causeOf returns what is to be mended before o, which holds or has ended, is done again: its cause or, if somebody has ended it and
// the BMC is silent, that.
func (v *view) causeOf(o *node.Operation) fault.Code {
	if v.silent && (o.Cause == fault.CancelledByPerson || o.Cause == fault.AbortedByPerson || o.Cause == fault.EndedByForce) {
		return fault.BMCSilent
	}
	return o.Cause
}

// canMend adds what mends the cause of o, which holds or has ended, unless somebody has done it since. If somebody has ended o
// because a step took unusually long, that is what is to be mended.
func (v *view) canMend(o *node.Operation) {
	causes, failed := []fault.Code{v.causeOf(o)}, o.EndedAt
	for i := range o.Steps {
		switch s := &o.Steps[i]; {
		case s.State == node.StepFailed && s.EndedAt != nil:
			failed = s.EndedAt
		case s.State == node.StepCancelled && s.LastError == "" && s.Cause != "":
			causes = append(causes, s.Cause)
			v.find(finding.EndedBecauseLate, finding.Params{"step": s.Name(), "meaning": text.Clause(s.Cause.Meaning())})
			v.mendBy(finding.AsAdvised, finding.Params{"advice": text.Clause(s.Cause.Row().Advice())})
		}
	}
	for _, cause := range causes {
		if cause == fault.NoConductor && v.f.Covered {
			v.mendBy(finding.RetryCovered, nil)
			continue
		}
		for _, a := range help.Remedies(v.n, o.Driver, cause) {
			switch {
			case v.mended(a.Do, failed):
			case a.Do == fault.ShowInventory && v.f.Hardware == nil:
				v.find(finding.NeverInspected, nil)
			default:
				if slices.Contains(ofReach, a.Do) {
					v.remedy = nil
				}
				v.can(a)
			}
		}
	}
}

// canMendMeanwhile adds what helps with a cause that keeps the operation waiting.
func (v *view) canMendMeanwhile(cause fault.Code) {
	for _, a := range help.RemediesMeanwhile(v.n, v.o.Driver, cause) {
		v.can(a)
	}
}

// canMendLate adds what helps with a cause for which the operation takes unusually long.
func (v *view) canMendLate(cause fault.Code) {
	v.canMendMeanwhile(cause)
	v.can(help.Action{Do: fault.CancelOperation, Operation: v.o.ID}) // what mends the cause can be done when it has ended
}

// canDecide adds the decisions that the failed step allows. The operation's workflow takes them, so without Temporal or an orchestrator
// they would be refused.
func (v *view) canDecide(step *node.Step) {
	if v.away != "" {
		v.find(finding.DecisionLater, finding.Params{"away": v.away}, help.Action{Do: fault.ShowStatus})
		return
	}
	for _, a := range step.Choices() {
		v.can(help.Action{Do: fault.Decide, Operation: v.o.ID, Decision: a})
	}
}
