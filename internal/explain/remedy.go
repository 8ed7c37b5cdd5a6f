package explain

import (
	"fmt"
	"slices"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// ofReach are the remedies that change how the BMC is reached.
var ofReach = []fault.Do{fault.SetPassword, fault.SetAddress, fault.TrustBMC}

// ofImage are the remedies that change what is deployed, or to which disk, with what shows the disks.
var ofImage = []fault.Do{fault.SetImage, fault.SetDigest, fault.SetFormat, fault.SetRootDevice, fault.ShowInventory}

// mended says that somebody has done such a remedy since something failed, nil = it is not known when; "" if nobody has.
func mended(do fault.Do, n *node.Node, failed *time.Time, now time.Time) string {
	switch {
	case failed == nil:
	case slices.Contains(ofReach, do) && newer(n.ReachedSince, failed):
		return fmt.Sprintf("How the BMC is reached was changed at %s, after that failure, so retry", text.Clock(*n.ReachedSince, now))
	case slices.Contains(ofImage, do) && newer(n.PreparedSince, failed):
		return fmt.Sprintf("What is deployed, or to which disk, was changed at %s, after that failure, so retry", text.Clock(*n.PreparedSince, now))
	}
	return ""
}

// causeOf returns what is to be mended before o, which holds or has ended, is done again: its cause or, if somebody has ended it and
// the BMC of n is silent, that.
func (e *Explanation) causeOf(o *node.Operation) fault.Code {
	if e.silent && (o.Cause == fault.CancelledByPerson || o.Cause == fault.AbortedByPerson || o.Cause == fault.EndedByForce) {
		return fault.BMCSilent
	}
	return o.Cause
}

// canMend adds what mends the cause of o, which holds or has ended, unless somebody has done it since. If somebody has ended o
// because a step took unusually long, that is what is to be mended.
func (e *Explanation) canMend(n *node.Node, o *node.Operation) {
	causes, failed := []fault.Code{e.causeOf(o)}, o.EndedAt
	for i := range o.Steps {
		switch s := &o.Steps[i]; {
		case s.State == node.StepFailed && s.EndedAt != nil:
			failed = s.EndedAt
		case s.State == node.StepCancelled && s.LastError == "" && s.Cause != "":
			causes = append(causes, s.Cause)
			e.Trouble = append(e.Trouble, fmt.Sprintf("When it was ended, step %s took unusually long: %s", s.Name(), text.Clause(s.Cause.Meaning())))
			e.remedy = text.Clause(s.Cause.Row().Advice())
		}
	}
	for _, cause := range causes {
		if cause == fault.NoConductor && !e.uncovered {
			e.remedy = "A conductor covers the node now, so retry"
			continue
		}
		for _, a := range help.Remedies(n, o.Driver, cause) {
			do := a.Do
			if since := mended(do, n, failed, e.now); since != "" {
				e.remedy = since
				continue
			}
			if do == fault.ShowInventory && !e.inspected {
				e.Notes = append(e.Notes, "It was never inspected, so Temper does not know its disks and their serial numbers: its BMC or its firmware's setup shows them")
				continue
			}
			if slices.Contains(ofReach, do) {
				e.remedy = ""
			}
			e.can(a)
		}
	}
}

// canMendMeanwhile adds what helps with a cause that keeps o waiting.
func (e *Explanation) canMendMeanwhile(n *node.Node, o *node.Operation, cause fault.Code) {
	for _, a := range help.RemediesMeanwhile(n, o.Driver, cause) {
		e.can(a)
	}
}

// canMendLate adds what helps with a cause for which o takes unusually long.
func (e *Explanation) canMendLate(n *node.Node, o *node.Operation, cause fault.Code) {
	e.canMendMeanwhile(n, o, cause)
	e.can(help.Action{Do: fault.CancelOperation, Operation: o.ID}) // what mends the cause can be done when it has ended
}
