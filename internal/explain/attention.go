package explain

import (
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/text"
)

// reasonWords say why nodes need a person, after "1 node" and after "2 nodes".
var reasonWords = map[node.Reason][2]string{
	node.ReasonHeld:        {"is held and waits for a person", "are held and wait for a person"},
	node.ReasonFailed:      {"has failed", "have failed"},
	node.ReasonLate:        {"takes longer than it should", "take longer than they should"},
	node.ReasonOwed:        {"owes an undo that the hardware refused", "owe an undo that the hardware refused"},
	node.ReasonFault:       {"was put into maintenance by a failure", "were put into maintenance by a failure"},
	node.ReasonPower:       {"could not be switched on or off", "could not be switched on or off"},
	node.ReasonUnhealthy:   {"has hardware in critical health", "have hardware in critical health"},
	node.ReasonQuarantined: {"is in quarantine", "are in quarantine"},
}

// NeedsPerson says why count nodes need a person, and the cause, in a sentence without a full stop.
func NeedsPerson(count int, reason node.Reason, cause fault.Code) string {
	words := reasonWords[reason][1]
	if count == 1 {
		words = reasonWords[reason][0]
	}
	return text.Count(count, "node", "nodes") + " " + words + because(cause)
}

// NeedsAttention says why one node needs a person: what failed, or else the cause.
func NeedsAttention(a *node.Attention) string {
	words := "It " + reasonWords[a.Reason][0]
	if len(a.Health) > 0 {
		return words + ": " + healthReasons(a.Health)
	}
	if a.Error != "" {
		return words + ": " + finding.Clean(a.Error)
	}
	return words + because(a.Cause)
}

// OfGroup returns what somebody can do about nodes that need a person for the same reason and cause, besides asking for each. member is
// one of the nodes; nil = none was read. Without a part of Temper that s calls away nothing goes on, as canDecide and usual say of one node.
func OfGroup(reason node.Reason, cause fault.Code, member *node.Node, s status.System) []help.Action {
	e := Explanation{}
	e.can(help.Action{Do: fault.ListNeedy, Reason: reason, Cause: cause})
	if cause == fault.NoConductor {
		e.can(help.Action{Do: fault.ListConductors})
	}
	if s.AwayBriefly() != "" && (reason == node.ReasonLate || reason == node.ReasonHeld) {
		e.can(help.Action{Do: fault.ShowStatus})
		return e.Actions
	}
	if reason == node.ReasonLate && cause != "" && member != nil && member.Operation != nil {
		e.canMendLate(member, member.Operation, cause)
	}
	return e.Actions
}

// GroupAdvice says what to do about nodes that need a person for the same reason and cause, in sentences without the last full stop;
// "" = nobody knows.
func GroupAdvice(reason node.Reason, cause fault.Code, s status.System) string {
	away := s.AwayBriefly()
	switch {
	case away != "" && reason == node.ReasonLate:
		return "Nothing goes on until that is mended: " + away
	case cause == "":
		return ""
	case away != "" && reason == node.ReasonHeld:
		return whatToDo(cause, false) + ". " + decidable(away)
	}
	return whatToDo(cause, reason == node.ReasonLate)
}

// decidable says when a decision is possible again.
func decidable(away string) string {
	return "A decision is possible when that is mended (" + away + ")"
}

// because appends what a code means to a sentence.
func because(c fault.Code) string {
	if c == "" {
		return ""
	}
	return fmt.Sprintf(": %s", strings.TrimSuffix(c.Meaning(), "."))
}
