package finding

import (
	"time"

	"go.temper.dev/temper/internal/text"
)

// overdueAfter is for how long a time that has passed is not overdue: what happens then takes a moment.
const overdueAfter = 5 * time.Second

// Overdue says that a time has passed at which something was to happen, and why it has not, or that a request may take longer; "" if
// there is nothing to say. answer is until when the answer to a request that began before t may be awaited, nil = not after t. away is
// what is broken; "" = nothing that is known.
func Overdue(t time.Time, answer *time.Time, now time.Time, away string) string {
	if answer != nil && answer.After(t) && now.Before(*answer) && away == "" {
		return "the last request to the BMC may take until " + text.Clock(*answer, now)
	}
	by := now.Sub(t)
	if by < overdueAfter {
		return ""
	}
	words := "overdue by " + text.Duration(by.Round(time.Second))
	if away != "" {
		words += ", because " + away
	}
	return words
}
