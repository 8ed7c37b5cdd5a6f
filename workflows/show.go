package workflows

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// show sets what Temporal's UI shows of the workflow: what it has found out about its operation, a table of the steps, and what
// somebody can do.
func (o *operation) show(ctx workflow.Context) {
	n := o.node(workflow.GetInfo(ctx).WorkflowStartTime)
	headline, facts, can := found(n, o.progress.Given, workflow.Now(ctx))
	workflow.SetCurrentDetails(ctx, details(n, headline, facts, o.progress.Steps, append(can, help.Action{Do: fault.ExplainNode})))
}

// showEnd sets what Temporal's UI shows of the workflow after its end.
func (o *operation) showEnd(ctx workflow.Context, end orchestrator.EndInput) {
	n := o.node(workflow.GetInfo(ctx).WorkflowStartTime)
	n.Operation.Outcome, n.Operation.Error, n.Operation.Cause = end.Outcome, end.Error, o.failure.Cause
	headline, facts, can := foundAtEnd(n, workflow.Now(ctx))
	workflow.SetCurrentDetails(ctx, details(n, headline, facts, o.progress.Steps, append(can, help.Action{Do: fault.ExplainNode})))
}

// node returns the node and its operation as far as the workflow knows them.
func (o *operation) node(began time.Time) *node.Node {
	p := o.progress
	op := &node.Operation{
		ID: o.in.Operation, NodeUUID: o.in.Node, NodeName: o.in.NodeName, Kind: o.in.Kind, Phase: o.phase(),
		AcceptedAt: began, BegunAt: &began, Conductor: p.Conductor, Group: o.settings.Group, Driver: o.settings.Driver,
		WaitingFor: p.WaitingFor, WaitingUntil: p.Until, Blocked: o.blocked,
	}
	for _, line := range p.Steps {
		op.Steps = append(op.Steps, o.step(line))
	}
	if o.held == nil {
		op.StepWait = p.StepWait
	}
	if op.Error, op.Cause = o.failure.Error, o.failure.Cause; o.undoing && op.Error == "" {
		op.Asked, op.Cause = askOf(op.Cause), ""
	}
	return &node.Node{UUID: o.in.Node, Name: o.in.NodeName, Driver: o.settings.Driver, ConductorGroup: o.settings.Group, Operation: op}
}

// askOf returns which end of an operation was asked for, by the cause that it has then.
func askOf(cause fault.Code) node.Ask {
	if cause == fault.AbortedByPerson {
		return node.AskAbort
	}
	return node.AskCancel
}

// step returns the step of which the workflow knows line.
func (o *operation) step(line activities.StepLine) node.Step {
	iface, name, _ := strings.Cut(line.Name, ".")
	return node.Step{
		Interface: iface, Step: name, State: line.State, Attempts: line.Attempts, Conductor: line.Conductor,
		LastError: line.LastError, StartedAt: line.Since,
		// Whether a step was asked for decides whether it may be skipped (node.Step.Choices).
		Asked: o.held != nil && slices.Contains(o.held.Choices, node.ActionSkip),
	}
}

// phase returns how far the operation is.
func (o *operation) phase() node.Phase {
	switch {
	case o.undoing:
		return node.Undoing
	case o.held != nil, o.atHold:
		return node.Holding
	case o.progress.WaitingFor != "":
		return node.Waiting
	}
	return node.Running
}

// reader reads the details later: their times have dates.
var reader = finding.Reader{Format: text.Moment}

// details are the facts, the actions and the steps in Markdown. Facts and actions are lists, because the column that
// Temporal's UI has for them is narrow.
func details(n *node.Node, headline finding.Finding, facts []finding.Finding, steps []activities.StepLine, can []help.Action) string {
	var b strings.Builder
	b.WriteString("**" + escape(cmp.Or(n.Name, n.UUID)+": "+headline.Words(reader)) + "**\n")
	title := ""
	for _, f := range facts {
		if f.Role == finding.RoleStep && f.Title() == title { // the clauses about a wait are one fact
			b.WriteString("; " + escape(f.Words(reader)))
			continue
		}
		title = f.Title()
		b.WriteString("\n- **" + title + ":** " + escape(f.Words(reader)))
	}
	b.WriteString("\n")
	b.WriteString("\n**You can:**\n\n")
	for _, a := range can {
		item := help.Of(n, a)
		b.WriteString("- `" + item.Command + "` " + escape(item.Effect))
		if here := help.InTemporal(a); here != "" {
			b.WriteString("; here: " + here)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n| step | state | since | attempts | conductor |\n|---|---|---|---|---|\n")
	for _, s := range steps {
		since := ""
		if s.Since != nil {
			since = text.Moment(*s.Since)
		}
		b.WriteString("| " + strings.Join([]string{
			escape(s.Name), escape(string(s.State)), since, strconv.Itoa(s.Attempts), escape(s.Conductor),
		}, " | ") + " |\n")
	}
	return b.String()
}

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
	signals := workflow.GetSignalChannelWithOptions(ctx, StepsSignal, workflow.SignalChannelOptions{
		Description: "Conductors send it to show which step runs. It changes nothing else. People have no use for it.",
	})
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

// markdown escapes what Markdown and HTML give a meaning, because hardware and strangers
// write errors and names.
var markdown = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "\r", " ", "\n", " ", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]",
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "#", "\\#", "!", "\\!", "~", "\\~",
)

// escape keeps words from being formatted, and from breaking a table.
func escape(s string) string { return markdown.Replace(s) }
