package workflows

import (
	"strconv"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/internal/node"
)

// Search attributes, as operators filter by them in Temporal's UI.
var (
	NodeID        = temporal.NewSearchAttributeKeyKeyword("TemperNodeID")
	NodeName      = temporal.NewSearchAttributeKeyKeyword("TemperNodeName")
	OperationID   = temporal.NewSearchAttributeKeyKeyword("TemperOperation")
	ConductorName = temporal.NewSearchAttributeKeyKeyword("TemperConductor")
	StepName      = temporal.NewSearchAttributeKeyKeyword("TemperStep")
	WaitingFor    = temporal.NewSearchAttributeKeyKeyword("TemperWaitingFor")
)

// SearchAttributes are their names, all of type Keyword.
var SearchAttributes = []string{NodeID.GetName(), NodeName.GetName(), OperationID.GetName(), ConductorName.GetName(), StepName.GetName(), WaitingFor.GetName()}

// show sets what Temporal's UI tells of the workflow: its steps as a table.
func (o *operation) show(ctx workflow.Context) {
	var b strings.Builder
	if o.progress.WaitingFor != "" {
		b.WriteString("**Waiting for " + o.progress.WaitingFor + "**")
		if o.progress.Until != nil {
			b.WriteString(" until " + o.progress.Until.Format("15:04:05 MST"))
		}
		b.WriteString("\n\n")
	}
	b.WriteString("| step | state | attempts | conductor | last error |\n|---|---|---|---|---|\n")
	for _, s := range o.progress.Steps {
		b.WriteString("| " + strings.Join([]string{s.Name, string(s.State), strconv.Itoa(s.Attempts), s.Conductor, cell(s.LastError)}, " | ") + " |\n")
	}
	workflow.SetCurrentDetails(ctx, b.String())
}

// cell keeps an error from breaking the table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}

// publish puts conductor, step and what is waited for where workflows can be
// searched by them. Only where the operation rests, and what has changed: each
// costs an event.
func (o *operation) publish(ctx workflow.Context) {
	step := ""
	for _, s := range o.progress.Steps {
		if s.State != node.StepDone && s.State != node.StepSkipped {
			step = s.Name
			break
		}
	}
	var changed []temporal.SearchAttributeUpdate
	for _, a := range []struct {
		key   temporal.SearchAttributeKeyKeyword
		value string
	}{{ConductorName, o.progress.Conductor}, {StepName, step}, {WaitingFor, o.progress.WaitingFor}} {
		if have, set := o.shown[a.key.GetName()]; !set || have != a.value {
			o.shown[a.key.GetName()] = a.value
			changed = append(changed, a.key.ValueSet(a.value))
		}
	}
	if len(changed) == 0 {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, changed...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes", "error", err)
	}
}
