package explain

import (
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

// OfGroup returns what somebody can do about nodes that need a person for the same reason and cause, besides asking for each. member is
// one of the nodes; nil = none was read. Without a part of Temper that s calls away nothing goes on.
func OfGroup(reason node.Reason, cause fault.Code, member *node.Node, s status.System) []help.Action {
	v := &view{n: member}
	v.can(help.Action{Do: fault.ListNeedy, Reason: reason, Cause: cause})
	if cause == fault.NoConductor {
		v.can(help.Action{Do: fault.ListConductors})
	}
	switch {
	case s.AwayBriefly() != "" && (reason == node.ReasonLate || reason == node.ReasonHeld):
		v.can(help.Action{Do: fault.ShowStatus})
	case reason == node.ReasonLate && cause != "" && member != nil && member.Operation != nil:
		v.o = member.Operation
		v.canMendLate(cause)
	}
	return v.Actions
}

// GroupAdvice says what to do about nodes that need a person for the same reason and cause, in sentences without the last full stop;
// "" = nothing is known.
func GroupAdvice(reason node.Reason, cause fault.Code, s status.System) string {
	away := s.AwayBriefly()
	switch {
	case away != "" && reason == node.ReasonLate:
		return "Nothing goes on until that is mended: " + away
	case cause == "":
		return ""
	case away != "" && reason == node.ReasonHeld:
		return whatToDo(cause, false) + ". " + finding.Of(finding.DecisionLater, finding.Params{"away": away}).Words(finding.Reader{})
	}
	return whatToDo(cause, reason == node.ReasonLate)
}
