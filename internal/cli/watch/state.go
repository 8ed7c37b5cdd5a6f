package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// State says how an operation ended, or how far it is and what was asked of it.
func State(o *client.Operation) string {
	if o.Ended() {
		return o.Outcome
	}
	state := o.State
	switch {
	case o.WaitingFor == "":
	case o.Pause != nil:
		state = o.WaitingFor + ": temper operation unpause " + o.ID
	case o.WaitingFor == node.PausedForMaintenance:
		state = node.PausedForMaintenance
	case node.Phase(o.State) == node.Holding && len(o.Choices) > 0:
		state = "holding for a decision: " + decisions(o)
	default: // whatever its state, it does not go on before that
		state = "waiting for " + o.WaitingFor
	}
	// The row has the request a moment before the workflow takes it up.
	switch asked := node.Ask(o.Asked); {
	case asked.Interrupts():
		return "cancelling"
	case asked.Ends():
		return "cancelling after this step"
	case asked == node.AskUnhold:
		return "going on"
	case asked == node.AskPower:
		return state + ", power change asked" + table.Optional(": ", o.AskedReason)
	}
	return state
}

// isEnding reports whether an operation ends already: somebody has asked for that, or it undoes what it did.
func isEnding(o *client.Operation) bool {
	return node.Ask(o.Asked).Ends() || o.State == string(node.Undoing) || o.State == string(node.CancellingState)
}

// Tries says how often a step was begun, if that is more than once, and how often it failed and may fail. A step is begun anew also
// after its conductor has died or was stopped, which is no failure.
func Tries(s client.Step) string {
	var words []string
	if s.Attempts > 1 {
		words = append(words, fmt.Sprintf("begun %d times", s.Attempts))
	}
	switch {
	case s.Failures == 0:
	case s.FailureLimit() == 0 && s.Failures == 1:
		words = append(words, "failed")
	case s.FailureLimit() == 0:
		words = append(words, fmt.Sprintf("failed %d times", s.Failures))
	default:
		words = append(words, fmt.Sprintf("failed %d of %d", s.Failures, s.Limit))
	}
	return strings.Join(words, ", ")
}

// StepDuration says how long a step has run. One that did not end took no longer than its operation. It is "" for a failed
// step whose end is not known.
func StepDuration(o *client.Operation, s client.Step, now time.Time) string {
	if node.StepState(s.State) == node.StepFailed && s.EndedAt == nil && o.EndedAt == nil {
		return ""
	}
	return table.Elapsed(s.StartedAt, cmp.Or(s.EndedAt, o.EndedAt), now)
}

// unlessTold returns an error as a clause, "" if one of the texts beside it has it.
func unlessTold(err string, beside ...string) string {
	why := table.Clause(err)
	if slices.ContainsFunc(beside, func(t string) bool { return strings.Contains(t, why) }) {
		return ""
	}
	return why
}

// waitSentence says what the running step of o waits for; "" = not known.
func waitSentence(o *client.Operation) string {
	if o.StepWait == nil {
		return ""
	}
	return o.StepWait.Sentence
}
