package help

import (
	"strings"

	"go.temper.dev/temper/internal/explain"
)

// inTemporal says how an action is done in Temporal's UI, on the page of the operation's workflow, for
// those that can be done there. {decision} is as in rows.
var inTemporal = map[explain.Do]string{
	explain.Decide:           "Update `decide` with the input `{\"action\": \"{decision}\", \"reason\": \"WHY\"}`",
	explain.CancelOperation:  "Request Cancellation",
	explain.UnpauseOperation: "Unpause Workflow",
	explain.RetryOperation:   "Reset",
}

// InTemporal returns how a is done in Temporal's UI, "" = not there.
func InTemporal(a explain.Action) string {
	return strings.ReplaceAll(inTemporal[a.Do], "{decision}", string(a.Decision))
}
