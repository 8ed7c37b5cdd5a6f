package explain

import (
	"time"

	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// AtLimit says what happens at o.WaitingUntil if what o waits for has not come by then: "it fails". "" = o has no limit, or its
// time stands still because o is paused. It also says if that is overdue now.
func AtLimit(o *node.Operation, now time.Time) string {
	if what := atLimit(o); what != "" {
		return what + text.Because(finding.Overdue(*o.WaitingUntil, answerUntil(o), now, ""))
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

// failsWithoutConductor are the parameters of when the operation fails because no conductor has come; nil if it does not wait for one,
// or for ever.
func (v *view) failsWithoutConductor() finding.Params {
	o := v.o
	if o.Blocked != node.BlockedNoConductor || atLimit(o) == "" {
		return nil
	}
	return finding.Params{"fails": atLimit(o), "at": text.Moment(*o.WaitingUntil), "overdue": finding.Overdue(*o.WaitingUntil, v.answer, v.f.Now, v.away)}
}
