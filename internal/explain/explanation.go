// Package explain finds out what happens to a node, what it waits for, what comes next, and what somebody can do about it. It reads
// only its arguments.
//
// A finding is a code with parameters and actions: package finding has the words, package help how an action is written.
package explain

import (
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
}

// Explanation is what was found out about a node. The strings are the words of the findings of one role each, clauses or sentences
// without full stops.
type Explanation struct {
	Findings []finding.Finding `json:"findings"`

	What       string     `json:"what"`
	Since      *time.Time `json:"since"`
	Trouble    []string   `json:"trouble"`
	Notes      []string   `json:"notes"`
	Who        string     `json:"who"`
	Asked      string     `json:"asked"`
	WaitingFor string     `json:"waiting_for"`
	Now        string     `json:"now"`
	Next       string     `json:"next"`
	NextAt     *time.Time `json:"next_at"` // if Now is not "", until when it goes on at the latest; if Otherwise is not "", the time of that
	Otherwise  string     `json:"otherwise"`
	Usual      string     `json:"usual"`
	Advice     string     `json:"advice"` // what to do, sentences; "" = nothing is known

	// Cause is why it does not go on, or has failed; "" = nothing is known to keep it from going on.
	Cause fault.Code `json:"-"`
	// Story is what goes on right now, in one sentence.
	Story Story `json:"-"`
	// Power is the power of the node.
	Power finding.PowerView `json:"-"`
	// Actions are what somebody can do; each would be accepted now.
	Actions []help.Action `json:"-"`
	// Speedup is an action that makes Next happen sooner; nil = there is none.
	Speedup *help.Action `json:"-"`

	// Timing is when Now ends or Next happens; "" = not known.
	Timing string `json:"-"`

	subject string // begins the paragraph
	unusual bool   // the trouble says how long the step usually takes
}

// view is what rules look at, and what they have found so far.
type view struct {
	Explanation
	n    *node.Node
	o    *node.Operation // of n; nil = none is open
	step *node.Step      // the current step of o; nil = none
	f    Facts

	waits       *node.Wait       // what the running step waits for
	answer      *time.Time       // until when an answer may be awaited although the time for it is over; nil = no longer
	away        string           // the part of Temper without which nothing goes on, and what is wrong with it; "" = all are there
	interrupted bool             // the conductor of the running step is dead, and no other one has taken the step over yet
	silent      bool             // the BMC of n gives no answer
	goesOn      bool             // o goes on or waits: it has not failed, and needs no decision
	ended       bool             // the workflow of o is over or lost
	advises     bool             // Cause is that of a failure that somebody has to mend
	exact       bool             // Next happens at NextAt; otherwise NextAt is the latest time
	retryLater  *node.Operation  // can be retried when the maintenance has ended by itself
	remedy      *finding.Finding // what to do about the failure; nil = what the table of codes says about Cause
}

// rules are what is found out of any node, in this order.
var rules = []func(*view){
	(*view).coverage, (*view).operation, (*view).idle, (*view).silence, (*view).maintenance, (*view).cause, (*view).health,
	(*view).hardware, (*view).console, (*view).advice,
}

// Node explains the state of n.
func Node(n *node.Node, f Facts) Explanation {
	v := &view{n: n, o: n.Operation, f: f, away: f.System.AwayBriefly(), silent: n.SilentBMC() != nil}
	v.Since = n.StateSince()
	if v.o != nil {
		v.step, v.waits = v.o.CurrentStep(), waitOf(v.o, n)
	}
	for _, rule := range rules {
		rule(v)
	}
	v.Power = finding.Power(n, f.Now)
	v.say()
	v.tell()
	return v.Explanation
}

// reader reads the explanation now.
func (v *view) reader() finding.Reader { return finding.Reader{Now: v.f.Now} }

// clock names a time for that reader.
func (v *view) clock(t time.Time) string { return text.Clock(t, v.f.Now) }

// find adds a finding.
func (v *view) find(code finding.Code, p finding.Params, can ...help.Action) {
	v.Findings = append(v.Findings, finding.Of(code, p, can...))
	for _, a := range can {
		v.can(a)
	}
}

// set is find for a role of which there is one finding: the last one counts.
func (v *view) set(code finding.Code, p finding.Params) {
	v.unset(finding.Rows[code].Role)
	v.find(code, p)
}

// unset removes the findings of a role.
func (v *view) unset(role finding.Role) {
	v.Findings = slices.DeleteFunc(v.Findings, func(f finding.Finding) bool { return f.Role == role })
}

// of returns the finding of a role; nil = there is none.
func (v *view) of(role finding.Role) *finding.Finding {
	if i := slices.IndexFunc(v.Findings, func(f finding.Finding) bool { return f.Role == role }); i >= 0 {
		return &v.Findings[i]
	}
	return nil
}

// found reports whether the error of a finding contains err.
func (v *view) found(err string) bool {
	return slices.ContainsFunc(v.Findings, func(f finding.Finding) bool {
		said, _ := f.Parameters["error"].(string)
		return strings.Contains(said, err)
	})
}

// can adds an action, once.
func (v *view) can(a help.Action) {
	if !slices.Contains(v.Actions, a) {
		v.Actions = append(v.Actions, a)
	}
}

// since is a time that words name with how long ago it was; nil = not known.
func since(t *time.Time) any {
	if t == nil {
		return nil
	}
	return finding.Past(*t)
}

// maintenance says that n is in maintenance, and when that ends.
func (v *view) maintenance() {
	n := v.n
	if !n.Maintenance {
		return
	}
	reason := n.MaintenanceReason
	if n.Fault != "" && v.found(finding.Clean(reason)) { // it is the error of which the node failed
		reason = ""
	}
	v.find(finding.Maintained, finding.Params{"fault": n.Fault, "reason": reason, "since": since(n.MaintenanceSince)})
	ends := n.MaintenanceEnds()
	if ends == "" {
		v.can(help.Action{Do: fault.EndMaintenance})
		return
	}
	p := finding.Params{"when": ends}
	if o := v.retryLater; o != nil {
		p["operation"], p["kind"] = o.ID, o.Kind
	}
	v.find(finding.MaintenanceEnds, p)
}

// cause finds out why it does not go on, if no rule before has said so.
func (v *view) cause() {
	if v.Cause == "" {
		v.Cause = v.f.System.Cause()
	}
	if v.Cause == "" && !v.f.Covered {
		v.Cause, v.advises = fault.NoConductor, true
	}
}

// advice says what to do. Without a conductor nothing else helps, so that one comes first.
func (v *view) advice() {
	if !v.advises || v.Cause == "" {
		return
	}
	about := whatToDo(v.Cause, v.goesOn)
	if v.remedy != nil {
		about = v.remedy.Words(v.reader())
	}
	if v.f.Covered || v.Cause == fault.NoConductor {
		v.find(finding.CodeAdvice, finding.Params{"advice": about})
		return
	}
	v.find(finding.CoverFirst, finding.Params{"first": whatToDo(fault.NoConductor, v.goesOn), "advice": about})
}

// whatToDo says what to do about a cause, in sentences without the last full stop. goesOn says that the operation goes on, so that it
// can't be retried.
func whatToDo(cause fault.Code, goesOn bool) string {
	if goesOn {
		return text.Clause(cause.Row().Advise)
	}
	return text.Clause(cause.Row().Advice())
}
