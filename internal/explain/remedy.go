package explain

import (
	"fmt"
	"slices"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// remedies are what mends the cause of a failure, where a command can. It comes before the retry.
var remedies = map[fault.Code][]Do{
	fault.BMCSilent:          {ProbeBMC, SetAddress},
	fault.BMCWrongPassword:   {SetPassword},
	fault.CredentialsDenied:  {SetPassword},
	fault.BMCWrongAddress:    {SetAddress},
	fault.BMCNotTrusted:      {TrustBMC},
	fault.BMCSettingsInvalid: {ValidateNode},
	fault.ValidationFailed:   {ValidateNode},

	fault.AgentNeverCalled: {ShowConsole, ShowPorts},
	fault.AgentSilent:      {ShowConsole},

	fault.ImageDigestDiffers: {SetDigest},
	fault.ImageUnreachable:   {SetImage},
	fault.ImageServerSlow:    {SetImage},
	fault.ImageNotTrusted:    {SetImage},
	fault.ImageInvalid:       {SetImage},
	fault.DiskTooSmall:       {SetImage, ShowInventory, SetRootDevice},
	fault.ImageFormatWrong:   {SetFormat},
	fault.NoDiskFits:         {ShowInventory, SetRootDevice},

	fault.HardwareUnhealthy: {ShowHealth},

	fault.NoConductor:    {ListConductors},
	fault.ConductorsDied: {ListConductors},
}

// meanwhile are the remedies that somebody can use while an operation goes on. The node's fields can't be changed then.
var meanwhile = []Do{ProbeBMC, ShowConsole, ShowPorts}

// ofReach are the remedies that change how the BMC is reached.
var ofReach = []Do{SetPassword, SetAddress, TrustBMC}

// ofImage are the remedies that change what is deployed, or to which disk, with what shows the disks.
var ofImage = []Do{SetImage, SetDigest, SetFormat, SetRootDevice, ShowInventory}

// mended says that somebody has done such a remedy since something failed, nil = it is not known when; "" if nobody has.
func mended(do Do, n *node.Node, failed *time.Time, now time.Time) string {
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
		for _, do := range remedies[cause] {
			if !fits(do, n, o.Driver) {
				continue
			}
			if since := mended(do, n, failed, e.now); since != "" {
				e.remedy = since
				continue
			}
			if do == ShowInventory && !e.inspected {
				e.Notes = append(e.Notes, "It was never inspected, so Temper does not know its disks and their serial numbers: its BMC or its firmware's setup shows them")
				continue
			}
			if slices.Contains(ofReach, do) {
				e.remedy = ""
			}
			e.can(Action{Do: do})
		}
	}
}

// canMendMeanwhile adds what helps with a cause that keeps o waiting.
func (e *Explanation) canMendMeanwhile(n *node.Node, o *node.Operation, cause fault.Code) {
	for _, do := range remedies[cause] {
		if slices.Contains(meanwhile, do) && fits(do, n, o.Driver) {
			e.can(Action{Do: do})
		}
	}
}

// canMendLate adds what helps with a cause for which o takes unusually long.
func (e *Explanation) canMendLate(n *node.Node, o *node.Operation, cause fault.Code) {
	e.canMendMeanwhile(n, o, cause)
	e.can(Action{Do: CancelOperation, Operation: o.ID}) // what mends the cause can be done when it has ended
}

// Mends returns what mends the cause for which a request to n's BMC has failed, where a command can.
func Mends(n *node.Node, cause fault.Code) (out []Action) {
	for _, do := range remedies[cause] {
		if fits(do, n, n.Driver) {
			out = append(out, Action{Do: do})
		}
	}
	return out
}

// fits reports whether somebody can do that with n, which has the driver.
func fits(do Do, n *node.Node, driver string) bool {
	switch h, _ := node.Hardware(driver); do {
	case ProbeBMC:
		return h.Probed
	case ShowConsole:
		return n.ConsoleEnabled && n.Implementation("console").Console != ""
	}
	return true
}
