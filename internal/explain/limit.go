package explain

import (
	"fmt"
	"time"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// AtLimit says what happens at o.WaitingUntil if what o waits for has not come by then: "it fails". "" = o has no limit, or its
// time stands still because o is paused. It also says if that is overdue now.
func AtLimit(o *node.Operation, now time.Time) string {
	if what := atLimit(o); what != "" {
		return what + overdue(*o.WaitingUntil, answerUntil(o), now, "")
	}
	return ""
}

// answerUntil returns until when an answer may be awaited although what o waits for has not come in time, nil = no longer.
func answerUntil(o *node.Operation) *time.Time {
	if w := o.LiveWait(); w != nil {
		return w.AnswerUntil
	}
	return nil
}

func atLimit(o *node.Operation) string {
	switch {
	case o.WaitingUntil == nil, o.TemporalPause != nil:
		return ""
	case o.Blocked == node.BlockedNoConductor, o.Phase == node.Holding:
		return "it fails"
	case o.Blocked == node.BlockedDeaths:
		return "its step is tried again"
	case o.Phase == node.Undoing:
		return "its undo is given up"
	}
	return "its step fails"
}

// failsWithoutConductor says when o fails because no conductor has come, in a clause; "" if o does not wait for one, or for ever.
func (e *Explanation) failsWithoutConductor(o *node.Operation, at func(time.Time) string) string {
	if o.Blocked != node.BlockedNoConductor || atLimit(o) == "" {
		return ""
	}
	return fmt.Sprintf("%s at %s if none comes%s", atLimit(o), at(*o.WaitingUntil), e.overdue(*o.WaitingUntil))
}

// overdueAfter is for how long nothing is said about a time that has passed: what happens then takes a moment.
const overdueAfter = 5 * time.Second

// overdue says that a time has passed at which something was to happen, and why it has not, or that a request may take longer; "" if
// there is nothing to say.
func (e *Explanation) overdue(t time.Time) string {
	if e.inside { // it is read later
		return ""
	}
	return overdue(t, e.answer, e.now, e.away)
}

// overdue is Explanation.overdue. answer is until when the answer to a request that began before t may be awaited, nil = not after t.
// away is what is broken; "" = nothing that is known.
func overdue(t time.Time, answer *time.Time, now time.Time, away string) string {
	if answer != nil && answer.After(t) && now.Before(*answer) && away == "" {
		return text.Because("the last request to the BMC may take until " + text.Clock(*answer, now))
	}
	by := now.Sub(t)
	if by < overdueAfter {
		return ""
	}
	words := "overdue by " + text.Duration(by.Round(time.Second))
	if away != "" {
		words += ", because " + away
	}
	return text.Because(words)
}
