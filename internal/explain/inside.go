package explain

import (
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// Inside explains n's open operation as its own workflow knows it, for the details in
// Temporal's UI. n needs only its UUID, its name and the operation. given is since when
// conductors have the steps; nil = they do not have them.
func Inside(n *node.Node, given *time.Time, now time.Time) Explanation {
	e := Explanation{Trouble: []string{}, Notes: []string{}, now: now, inside: true, waits: n.Operation.LiveWait()}
	e.operation(n, n.Operation, Facts{Now: now, Covered: true, Run: &node.RunStatus{Known: true, Open: true}, Inside: true, Given: given})
	return e
}

// Line is one fact of an explanation, with its title.
type Line struct{ Title, Words string }

// Lines returns the explanation as a headline and facts. They stay true when they are read
// later: every time is a date, and none is relative to the moment of writing.
func (e *Explanation) Lines(n *node.Node) (headline string, facts []Line) {
	add := func(title, words string) {
		if words != "" {
			facts = append(facts, Line{title, words})
		}
	}
	if e.Since != nil {
		add("Since", text.Moment(*e.Since))
	}
	if o := n.Operation; o != nil && stepRuns(o) {
		step := o.CurrentStep()
		words := strings.TrimPrefix(stepWords(step), "step ")
		if step.StartedAt != nil {
			words += ", since " + text.Moment(*step.StartedAt)
		}
		add("Runs step", words)
	} else {
		add("Now", e.Now)
	}
	if o := n.Operation; o != nil {
		if w := o.LiveWait(); w != nil {
			how := telling{agent: AgentNotRead, format: text.Moment}
			if w.Every > 0 { // nobody tells the workflow at once that its conductor has died
				how.looks = fmt.Sprintf("looked at again every %s as long as its conductor is alive", text.Duration(w.Every))
			}
			add("Its step waits", waitSentence(w, how, e.now))
		}
	}
	for _, t := range e.Trouble {
		add("Trouble", t)
	}
	if o := n.Operation; o != nil {
		add("Cause", string(o.Cause))
	}
	add("Who", e.Who)
	add("Asked to end", e.Asked)
	add("Waits for", e.WaitingFor+otherwise(e.Otherwise))
	add("Next", e.Next)
	if e.NextAt != nil && e.Otherwise == "" {
		title := "At the latest"
		if e.exact {
			title = "At"
		}
		add(title, text.Moment(*e.NextAt))
	}
	add("Told at", text.Moment(e.now))
	return label(n) + ": " + e.What, facts
}

// Ended explains how o has ended, and what somebody can do about that.
func Ended(n *node.Node, o *node.Operation, at time.Time) (headline string, facts []Line, can []help.Action) {
	facts = []Line{{"At", text.Moment(at)}}
	if o.Error != "" {
		facts = append(facts, Line{"Error", finding.OperationError(o)})
	}
	if o.Cause != "" {
		facts = append(facts, Line{"Cause", string(o.Cause)})
	}
	how := "has " + string(o.Outcome)
	if o.Outcome == node.Cancelled {
		how = "was cancelled"
	}
	e := Explanation{uncovered: true} // it is read later, so that nobody knows who covers the node then
	if o.Outcome != node.Succeeded {
		e.canMend(n, o)
		e.can(help.Action{Do: fault.RetryOperation, Operation: o.ID, Kind: o.Kind})
	}
	e.can(help.Action{Do: fault.ExplainNode})
	return fmt.Sprintf("%s: operation %d (%s) %s", label(n), o.ID, o.Kind, how), facts, e.Actions
}
