package explain

import (
	"fmt"
	"time"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// AtLimit says what happens at o.WaitingUntil if what o waits for has not come by then: "it fails". "" = o has no limit, or it
// stands still because o is paused.
func AtLimit(o *node.Operation) string {
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
	if o.Blocked != node.BlockedNoConductor || AtLimit(o) == "" {
		return ""
	}
	return fmt.Sprintf("%s at %s if none comes%s", AtLimit(o), at(*o.WaitingUntil), e.overdue(*o.WaitingUntil))
}

// overdueAfter is for how long nothing is said about a time that has passed: what happens then takes a moment.
const overdueAfter = 5 * time.Second

// overdue says that a time has passed at which something was to happen, and why it has not; "" if there is nothing to say.
func (e *Explanation) overdue(t time.Time) string {
	by := e.now.Sub(t)
	if e.inside || by < overdueAfter {
		return ""
	}
	words := "overdue by " + text.Duration(by.Round(time.Second))
	if e.away != "" {
		words += ", because " + e.away
	}
	return text.Because(words)
}
