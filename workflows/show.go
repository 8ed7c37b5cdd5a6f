package workflows

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/explain"
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

// show sets what Temporal's UI shows of the workflow: what it is doing, and a table of its steps.
func (o *operation) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, o.headline()+o.stepWait()+o.table())
}

// showEnd sets what Temporal's UI shows of the workflow after its end.
func (o *operation) showEnd(ctx workflow.Context, end orchestrator.EndInput) {
	line := "**The operation has " + string(end.Outcome) + "**"
	if end.Outcome == node.Cancelled {
		line = "**The operation was cancelled**"
	}
	line += " at " + formatTime(workflow.Now(ctx))
	if end.Error != "" {
		line += ": " + escapeCell(end.Error)
	}
	workflow.SetCurrentDetails(ctx, line+"\n\n"+o.table())
}

// headline says what the operation waits for, or which step runs.
func (o *operation) headline() string {
	p := o.progress
	switch running := o.running(); {
	case p.WaitingFor != "" && p.Until != nil:
		return "**Waiting for " + p.WaitingFor + "** until " + formatTime(*p.Until) + "\n\n"
	case p.WaitingFor != "":
		return "**Waiting for " + p.WaitingFor + "**\n\n"
	case p.Given == nil:
		return ""
	case running != nil:
		line := "**Running " + running.Name + "** on conductor " + running.Conductor
		if running.Since != nil {
			line += " since " + formatTime(*running.Since)
		}
		return line + "\n\n"
	}
	return "**With the conductors of driver " + o.settings.Driver + "** since " + formatTime(*p.Given) + "\n\n"
}

// stepWait says what the current step waits for, as it was when a conductor told it last.
func (o *operation) stepWait() string {
	w := o.progress.StepWait
	if w == nil || o.held != nil {
		return ""
	}
	return escapeCell(explain.WaitSentence(w, explain.AgentNotRead, formatTime)) + "\n\n"
}

// running returns the running step as far as the workflow knows, nil if there is none.
func (o *operation) running() *activities.StepLine {
	i := slices.IndexFunc(o.progress.Steps, func(s activities.StepLine) bool { return s.State == node.StepRunning })
	if i < 0 {
		return nil
	}
	return &o.progress.Steps[i]
}

func (o *operation) table() string {
	var b strings.Builder
	b.WriteString("| step | state | attempts | conductor | last error |\n|---|---|---|---|---|\n")
	for _, s := range o.progress.Steps {
		b.WriteString("| " + strings.Join([]string{s.Name, string(s.State), strconv.Itoa(s.Attempts), s.Conductor, escapeCell(s.LastError)}, " | ") + " |\n")
	}
	return b.String()
}

// formatTime formats a time with its date and zone, because readers may be in another zone or read it days later.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// dispatch records that conductors have the steps, with the claim seq.
func (o *operation) dispatch(ctx workflow.Context, seq int64) {
	now := workflow.Now(ctx).UTC()
	o.dispatched, o.progress.Given, o.progress.WaitingFor, o.progress.StepWait = seq, &now, "", nil
	o.show(ctx)
}

// endDispatch records that no conductor has the steps.
func (o *operation) endDispatch() { o.dispatched, o.progress.Given = 0, nil }

// receiveSteps handles StepsSignal. It ignores an update of an activity that has ended.
func (o *operation) receiveSteps(ctx workflow.Context) {
	signals := workflow.GetSignalChannel(ctx, StepsSignal)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var update conductor.StepsUpdate
			if !signals.Receive(ctx, &update) {
				return
			}
			if o.dispatched == 0 || update.Seq != o.dispatched {
				continue
			}
			o.progress.Steps, o.progress.Conductor, o.progress.StepWait = update.Steps, update.Conductor, update.StepWait
			o.show(ctx)
			o.upsertSearchAttributes(ctx)
		}
	})
}

// escapeCell keeps an error from breaking the table.
func escapeCell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}

// upsertSearchAttributes sets the search attributes of conductor, step and what the operation
// waits for. It is called only when the operation waits, and sets only what has changed, because
// each call costs an event.
func (o *operation) upsertSearchAttributes(ctx workflow.Context) {
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
		workflow.GetLogger(ctx).Warn("the search attributes could not be set", "error", err)
	}
}
