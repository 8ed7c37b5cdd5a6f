// Package explain says in sentences what happens to a node, what it waits for, what
// comes next, and what somebody can do about it. It reads only its arguments.
//
// What somebody can do is a list of actions. Package help says how an action is written as
// a command and as a request.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/inventory"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/text"
)

// Facts is what an explanation needs to know besides the node.
type Facts struct {
	Now      time.Time
	Covered  bool                  // a live conductor could work on the node
	Fleet    []coverage.Conductor  // all conductors, alive or not
	Previous *node.Operation       // the newest provisioning operation that has ended; nil = none
	Newest   *node.Operation       // the newest operation of any kind that has ended; nil = none is known
	Undo     *node.Operation       // the newest undo that has ended; nil = none is known
	System   status.System         // the parts of Temper; the zero value = nothing is known to be broken
	Health   node.Health           // as its BMC told it last; the zero value = never
	Withheld bool                  // nodes in critical health are not offered
	Hardware *inventory.Comparison // of its last inspection with the one before and with other nodes; nil = it was not inspected
	Console  node.Console          // of a node whose console is enabled; the zero value = no live conductor holds it
	Run      *node.RunStatus       // of the open operation's workflow; nil = not known
	Foreign  string                // the workflow that has the id of the open operation's, and is not its own; "" = none is known
	// Supports reports whether the node's driver can do an operation of the kind at all; nil = it can do all.
	Supports func(node.OperationKind) bool
	// Inside says that the operation's own workflow explains it. It knows neither the node's provision state
	// nor the other facts, except Now and Given.
	Inside bool
	Given  *time.Time // since when conductors have the steps; nil = they do not have them
}

// Explanation is the state of a node in words. The fields are parts of sentences,
// without full stops.
type Explanation struct {
	What       string     `json:"what"`
	Since      *time.Time `json:"since"`
	Trouble    []string   `json:"trouble"` // what keeps it from going on, whole sentences
	Notes      []string   `json:"notes"`   // what is worth knowing but does not prevent it from going on, whole sentences
	Who        string     `json:"who"`
	Asked      string     `json:"asked"` // which end of the operation was asked for, and by whom; "" = none
	WaitingFor string     `json:"waiting_for"`
	Now        string     `json:"now"` // the step that goes on; "" = none does
	Next       string     `json:"next"`
	NextAt     *time.Time `json:"next_at"`   // if Now is not "", until when it goes on at the latest; if Otherwise is not "", the time of that
	Otherwise  string     `json:"otherwise"` // what happens, and when, if what it waits for does not come; "" = not known
	Usual      string     `json:"usual"`     // how long the current step has run and usually takes; "" = not known

	// Cause is why it does not go on, or has failed; "" = nothing is known to keep it from going on.
	Cause fault.Code `json:"-"`

	// Story is what goes on right now, in one sentence.
	Story Story `json:"-"`
	// Power is the power of the node.
	Power PowerView `json:"-"`

	// Actions are what somebody can do; each would be accepted now.
	Actions []help.Action `json:"-"`
	// Speedup is an action that makes Next happen sooner; nil = there is none.
	Speedup *help.Action `json:"-"`

	subject     string // begins the paragraph
	remedy      string // what to do about the failure; "" = what the table of codes says about Cause
	afterwards  string // what can be done when the maintenance has ended by itself; "" = nothing is known
	choosing    string // which of several retries does what; "" = there is one at most
	why         string // follows What, and the time since when that is so
	handover    string // of an operation that is interrupted: since when its conductor is silent, and who goes on
	interrupted bool   // the conductor of the running step is dead, and nobody has taken the step over yet
	goesOn      bool   // the open operation goes on or waits: it has not failed, and nobody has to decide
	inspected   bool   // Temper has an inventory of the node
	ended       bool   // the workflow of the open operation is over or lost
	inside      bool   // Facts.Inside
	advises     bool   // Cause is that of a failure that somebody has to mend
	silent      bool   // the node's BMC gives no answer, as far as is known
	uncovered   bool   // no conductor covers the node
	exact       bool   // Next happens at NextAt; otherwise NextAt is the latest time
	usually     string // the second half of Usual
	away        string // the part of Temper without which nothing goes on, and what is wrong with it; "" = all are there
	fleet       []coverage.Conductor
	waits       *node.Wait // what the running step waits for
	answer      *time.Time // until when an answer may be awaited although the time for it is over; nil = no longer
	now         time.Time
}

// Node explains the state of n.
func Node(n *node.Node, f Facts) Explanation {
	e := Explanation{Trouble: []string{}, Notes: []string{}, Since: n.StateSince(), now: f.Now, inspected: f.Hardware != nil, away: f.System.AwayBriefly(), fleet: f.Fleet}
	if n.Operation == nil {
		if away := f.System.Away(); away != "" {
			e.Trouble = append(e.Trouble, away)
		}
	}
	e.uncovered, e.silent = !f.Covered, n.SilentBMC() != nil
	e.coverage(n, f)
	e.canCover(n, f)
	if o := n.Operation; o != nil {
		e.waits = waitOf(o, n)
		e.operation(n, o, f)
	} else {
		e.idle(n, f)
	}
	e.silence(n)
	base, maintained := e.What, ""
	e.What += e.why
	if n.Maintenance {
		what := ", in maintenance"
		if n.Fault != "" {
			what += " with fault " + n.Fault
		}
		because := text.Because(n.MaintenanceReason)
		if n.Fault != "" && strings.Contains(e.why, finding.Clean(n.MaintenanceReason)) { // it is the error of which the node failed
			because = ""
		}
		e.What += what + because
		maintained = what + text.Since(n.MaintenanceSince, f.Now) + because
		if ends := n.MaintenanceEnds(); ends != "" {
			e.Trouble = append(e.Trouble, "The maintenance ends by itself "+ends+e.afterwards)
		} else {
			e.can(help.Action{Do: fault.EndMaintenance})
		}
	}
	if e.Cause == "" {
		e.Cause = f.System.Cause()
	}
	if e.Cause == "" && !f.Covered {
		e.Cause, e.advises = fault.NoConductor, true
	}
	e.health(n, f)
	e.hardware(f.Hardware)
	e.console(n, f.Console)
	e.Power = Power(n, f.Now)
	e.tell(n)
	e.subject = fmt.Sprintf("Node %s is %s%s%s%s", label(n), base, text.Since(e.Since, f.Now), e.why, maintained)
	return e
}

func label(n *node.Node) string {
	if n.Name != "" {
		return n.Name
	}
	return n.UUID
}

// Paragraph returns the whole explanation. commands are the Actions as commands.
func (e *Explanation) Paragraph(commands []string) string {
	out := append([]string{e.subject}, e.Trouble...)
	if e.Who != "" {
		out = append(out, "The operation is "+e.Who)
	}
	if e.Asked != "" {
		out = append(out, "It is asked to end: "+e.Asked)
	}
	if e.Story.running {
		words := text.Capital(e.Story.Sentence)
		if e.Story.Wait == nil && e.usually != "" && !e.tellsUsual() { // it tells since when the step runs
			words += "; " + e.usually
		}
		out = append(out, words)
	}
	switch {
	case e.WaitingFor == "" || e.Story.covers(e.WaitingFor):
	case e.WaitingFor == node.PausedForMaintenance:
		out = append(out, "It is "+node.PausedForMaintenance)
	default:
		out = append(out, "It waits for "+e.WaitingFor+otherwise(e.Otherwise))
	}
	if (e.Power.SeenAt != nil || e.Power.Wanted != "") && !e.Story.tellsPower(e.Power.Seen) {
		out = append(out, "Its power: "+strings.ReplaceAll(e.Power.Text, "power ", ""))
	}
	out = append(out, e.Notes...)
	if e.Now != "" && !e.Story.running {
		out = append(out, "Now: "+e.Now+e.when("until "))
	}
	if e.Next != "" {
		next := "Next: " + e.Next
		if e.Now == "" && e.Otherwise == "" {
			next += e.when("at ")
		}
		out = append(out, next)
	}
	switch {
	case e.Usual == "", e.tellsUsual():
	case e.Story.running && e.Story.Wait == nil: // it is told with the step
	default:
		out = append(out, text.Capital(e.Usual))
	}
	out = append(out, e.advice()...)
	if e.choosing != "" {
		out = append(out, e.choosing)
	}
	if len(commands) > 0 {
		out = append(out, "You can: "+strings.Join(commands, "; "))
	}
	return strings.Join(out, ". ") + "."
}

// tellsUsual reports whether the trouble says how long the step usually takes.
func (e *Explanation) tellsUsual() bool { return slices.Contains(e.Trouble, unusual+e.Usual) }

// when says when Now ends or Next happens, after a comma; "" if that is not known.
func (e *Explanation) when(preposition string) string {
	if e.NextAt == nil {
		return ""
	}
	latest := " at the latest"
	if e.exact {
		latest = ""
	}
	when := fmt.Sprintf(", %s%s%s", preposition, text.Moment(*e.NextAt), latest)
	if overdue := e.overdue(*e.NextAt); overdue != "" {
		return when + overdue
	}
	return when + fmt.Sprintf(" (in %s)", text.Duration(max(e.NextAt.Sub(e.now), 0).Round(time.Second)))
}

// otherwise appends what happens if what is waited for does not come.
func otherwise(clause string) string {
	if clause == "" {
		return ""
	}
	return "; " + clause
}

// advice says what to do, in sentences without full stops. Without a conductor nothing else helps, so that one comes first.
func (e *Explanation) advice() []string {
	if !e.advises || e.Cause == "" {
		return nil
	}
	about := cmp.Or(e.remedy, whatToDo(e.Cause, e.goesOn))
	if !e.uncovered || e.Cause == fault.NoConductor {
		return []string{"What to do: " + about}
	}
	return []string{"What to do first: " + whatToDo(fault.NoConductor, e.goesOn), "What to do about the failure: " + about}
}

// whatToDo says what to do about a cause, in sentences without the last full stop. goesOn says that the operation goes on, so that it
// can't be retried.
func whatToDo(cause fault.Code, goesOn bool) string {
	if goesOn {
		return text.Clause(cause.Row().Do)
	}
	return text.Clause(cause.Row().Advice())
}
