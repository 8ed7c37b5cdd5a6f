package help

import (
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// inTemporal says how an action is done in Temporal's UI, on the page of the operation's workflow, for
// those that can be done there. {decision} is as in rows.
var inTemporal = map[fault.Do]string{
	fault.Decide:           "Update `decide` with the input `{\"action\": \"{decision}\", \"reason\": \"WHY\"}`",
	fault.CancelOperation:  "Request Cancellation",
	fault.UnpauseOperation: "Unpause Workflow",
	fault.RetryOperation:   "Reset",
}

// InTemporal returns how a is done in Temporal's UI, "" = not there.
func InTemporal(a Action) string {
	return strings.ReplaceAll(inTemporal[a.Do], "{decision}", string(a.Decision))
}

// Mend returns the command of Temporal's command line that puts d right.
func Mend(d Difference) Item {
	in := " --namespace " + text.ShellWord(d.Namespace)
	named := in + " --name " + text.ShellWord(d.Name)
	add := fmt.Sprintf("temporal operator search-attribute create%s --type %s", named, d.Want)
	switch {
	case d.Object == TemporalNamespace && d.Missing():
		return Item{Command: "temporal operator namespace create" + in + " --retention " + d.Want, Effect: "creates the namespace"}
	case d.Object == TemporalNamespace:
		return Item{Command: "temporal operator namespace update" + in + " --retention " + d.Want, Effect: "sets its retention"}
	case d.Object == TemporalAttribute && d.Missing():
		return Item{Command: add, Effect: "creates the search attribute"}
	case d.Object == TemporalAttribute:
		return Item{Command: "temporal operator search-attribute remove --yes" + named + " && " + add, Effect: "creates the search attribute again, with the type that is wanted"}
	case d.Field == PausedField:
		return Item{Command: "temporal schedule toggle" + in + " --schedule-id " + d.Name + " --unpause --reason WHY", Effect: "ends the pause"}
	case d.Missing():
		return Item{Command: "temporal schedule create" + in + " --schedule-id " + d.Name + " " + d.Flags, Effect: "creates the schedule"}
	}
	return Item{Command: "temporal schedule update" + in + " --schedule-id " + d.Name + " " + d.Flags, Effect: "sets the whole schedule"}
}
