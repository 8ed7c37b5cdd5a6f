package finding

import (
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
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
		return words + ": " + HealthReasons(a.Health)
	}
	if a.Error != "" {
		return words + ": " + Clean(a.Error)
	}
	return words + because(a.Cause)
}

// because appends what a code means to a sentence.
func because(c fault.Code) string {
	if c == "" {
		return ""
	}
	return fmt.Sprintf(": %s", strings.TrimSuffix(c.Meaning(), "."))
}
