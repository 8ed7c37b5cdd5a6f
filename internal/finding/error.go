package finding

import (
	"fmt"
	"regexp"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// neverCalled is how Ironic tells that an agent has not called. Clients know these words, so that errors keep them.
var neverCalled = regexp.MustCompile(`Timeout reached while waiting for callback for node \S{36}`)

// aborted is how Ironic says that somebody has ended an operation. Its clients look for "aborted", so that errors keep the words.
var aborted = regexp.MustCompile(`By request, the (?:[a-z]+ )?operation was aborted|Inspection was aborted by request`)

// Clean returns an error as a clause of a sentence, with Ironic's words about an agent that never called and about a cancelled
// operation replaced by Temper's.
func Clean(err string) string { return CleanOf(nil, err) }

// CleanOf is Clean for the error of o, or of its node. If somebody cancelled o, it also says who did, and why.
func CleanOf(o *node.Operation, err string) string {
	err = neverCalled.ReplaceAllString(err, "the server was booted, and its agent never called")
	return text.Clause(aborted.ReplaceAllLiteralString(err, cancelled(o)))
}

// cancelled says who has cancelled o, and why.
func cancelled(o *node.Operation) string {
	if o == nil || o.Outcome != node.Cancelled {
		return "cancelled by request"
	}
	by, reason := o.AskedBy, o.AskedReason
	if d := o.Decisions; len(d) > 0 && d[len(d)-1].Action == node.ActionAbort {
		by, reason = d[len(d)-1].By, d[len(d)-1].Reason
	}
	if by == "" {
		by = "request"
	}
	return "cancelled by " + by + text.Because(reason)
}

// OperationError returns why o has not succeeded, in Temper's words; "" if it has, or has not ended.
func OperationError(o *node.Operation) string {
	return aborted.ReplaceAllLiteralString(o.Error, cancelled(o))
}

// Tries says how often a step was begun, and its last error; "" = it has none.
func Tries(step *node.Step) string {
	err := Clean(step.LastError)
	switch {
	case err == "":
		return ""
	case step.Attempts == 0:
		return "last error: " + err
	}
	return fmt.Sprintf("begun %s, last error: %s", times(step.Attempts), err)
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
