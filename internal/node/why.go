package node

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Facts is what Why needs beside the node.
type Facts struct {
	Now      time.Time
	Covered  bool        // a live conductor could work on the node
	Fleet    []Conductor // all, alive or not
	Previous *Operation  // the newest one that has ended; nil = none
	Undo     *Operation  // the undo that was tried last; nil = none is known
	// Reconciled is how long ago a reconciliation ended last; below zero = never.
	// Late: longer than it should be.
	Reconciled time.Duration
	Late       bool
	Run        *RunStatus // of the open operation; nil = not known
}

// Why says of a node what happens to it, and what somebody can do about it.
type Why struct {
	What       string     `json:"what"`
	Since      *time.Time `json:"since"`
	Trouble    []string   `json:"trouble"` // what keeps it from going on, sentences
	Who        string     `json:"who"`
	Asked      string     `json:"asked"` // to end, by whom; "" = nobody did
	WaitingFor string     `json:"waiting_for"`
	Next       string     `json:"next"`
	NextAt     *time.Time `json:"next_at"`
	Commands   []string   `json:"commands"` // that would be accepted now
	Text       string     `json:"text"`     // all of it, one paragraph

	exact bool // Next happens at NextAt; otherwise NextAt is the latest time
}

// WhyOf reads only its arguments.
func WhyOf(n *Node, f Facts) Why {
	w := Why{Commands: []string{}, Trouble: []string{}, Since: n.ProvisionUpdatedAt}
	name := n.label()
	w.uncovered(n, f)
	if o := n.Operation; o != nil {
		w.held(n, o, f)
	} else {
		w.resting(n, f, name)
	}
	base, maintained := w.What, ""
	if n.Maintenance {
		what := ", in maintenance"
		if n.Fault != "" {
			what += " with fault " + n.Fault
		}
		w.What += what + because(n.MaintenanceReason)
		maintained = what + since(n.MaintenanceSince, f.Now) + because(n.MaintenanceReason)
		w.Commands = append(w.Commands, "temper node maintenance unset "+name)
	}
	if !f.Covered {
		w.Commands = append(w.Commands, "temper conductor list")
		if o := n.Operation; o == nil || !working(f.Fleet, o.Conductor) {
			for _, g := range groupsFor(n, f.Fleet) {
				w.Commands = append(w.Commands, fmt.Sprintf("temper node set %s --conductor-group %s", name, quotedGroup(g)))
			}
		}
	}
	w.Text = w.paragraph(fmt.Sprintf("Node %s is %s%s%s", name, base, since(w.Since, f.Now), maintained), f.Now)
	return w
}

// uncovered says why nobody could work on the node.
func (w *Why) uncovered(n *Node, f Facts) {
	lost := ""
	if q := n.Quarantine; q != nil && !q.Since.IsZero() {
		lost = since(&q.Since, f.Now)
	}
	if f.Covered {
		if n.Quarantine != nil {
			w.Trouble = append(w.Trouble, fmt.Sprintf("It is in quarantine, offered to nobody: its conductors come and go%s, and it is released by itself when they have stayed for %s", lost, FlapHold))
		}
		return
	}
	text := fmt.Sprintf("No live conductor covers it%s: none with driver %s in conductor group %q has its interfaces and takes work. "+
		"It is offered to nobody, new work on it is refused, and it is released by itself when one is back", lost, n.Driver, n.ConductorGroup)
	var known []string
	for _, c := range f.Fleet {
		if c.Group == n.ConductorGroup && len(known) < mostNamed {
			known = append(known, fmt.Sprintf("%s, %s, last heartbeat %s ago", c.Hostname, c.State(), ago(f.Now, c.HeartbeatAt)))
		}
	}
	if len(known) == 0 {
		known = []string{"none"}
	}
	w.Trouble = append(w.Trouble, text, "Known conductors of the group: "+strings.Join(known, "; "))
}

// mostNamed bounds the conductors and groups that are named.
const mostNamed = 5

// groupsFor are other groups with a conductor that could work on n, as few as are named.
func groupsFor(n *Node, fleet []Conductor) []string {
	var out []string
	for _, c := range fleet {
		if c.TakesWork() && c.Group != n.ConductorGroup && c.Covers(c.Group, n.Driver, n.Interfaces) && !slices.Contains(out, c.Group) {
			out = append(out, c.Group)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), mostNamed)]
}

func quotedGroup(g string) string {
	if g == "" {
		return `""`
	}
	return g
}

func working(fleet []Conductor, host string) bool {
	c := conductorOf(fleet, host)
	return c != nil && c.Alive
}

func conductorOf(fleet []Conductor, host string) *Conductor {
	if i := slices.IndexFunc(fleet, func(c Conductor) bool { return c.Hostname == host }); i >= 0 && host != "" {
		return &fleet[i]
	}
	return nil
}

// takenUpIn is how soon an orchestrator takes up what was accepted, if one is there.
const takenUpIn = 5 * time.Second

// Unattended says that no orchestrator attends to the open operation; "" = as far
// as is known one does.
func Unattended(o *Operation, f Facts) string {
	last := fmt.Sprintf("for %s", f.Reconciled.Round(time.Second))
	if f.Reconciled < 0 {
		last = "ever"
	}
	waits := f.Now.Sub(o.AcceptedAt)
	fresh := o.Phase == Accepted && o.BegunAt == nil
	switch {
	case f.Late && (f.Reconciled >= 0 || waits > takenUpIn):
		return "No orchestrator has reconciled " + last + ": nothing goes on until one runs"
	case fresh && waits > takenUpIn:
		return fmt.Sprintf("No orchestrator has taken it up in %s: it begins when one runs and Temporal is there", waits.Round(time.Second))
	}
	return ""
}

// held is a node with an open operation.
func (w *Why) held(n *Node, o *Operation, f Facts) {
	w.What = fmt.Sprintf("%s, operation %d (%s) is %s", n.ProvisionState, o.ID, o.Kind, o.State())
	w.Since, w.WaitingFor, w.NextAt = &o.AcceptedAt, o.WaitingFor, o.WaitingUntil
	if s := Unattended(o, f); s != "" && pauseNow(o, f.Run) == nil {
		w.Trouble = append(w.Trouble, s)
	}
	if len(n.Owed) > 0 && !o.Kind.Spec().Undoes {
		w.Trouble = append(w.Trouble, fmt.Sprintf("What earlier work left is still to be undone after it: %s%s", Undos(n.Owed), because(sentence(n.OwedError))))
	}
	w.owner(o, f)
	if !f.Covered && w.WaitingFor == "" {
		w.WaitingFor = WaitsForConductor(o.Group, o.Driver)
	}
	if r := f.Run; r != nil && r.Known && !r.Open {
		when := ""
		if !r.ClosedAt.IsZero() {
			when = " at " + moment(r.ClosedAt)
		}
		w.Trouble = append(w.Trouble, fmt.Sprintf("Its workflow was %s%s: nobody works on it any more", r.How, when))
		w.WaitingFor, w.NextAt = "", nil
		w.Next = "reconciliation ends it, seconds after nothing of it can act any more, and what it left is undone"
		w.Commands = append(w.Commands, "temper node recover "+n.label())
		return
	}
	if f.Run != nil && !f.Run.Known {
		w.Trouble = append(w.Trouble, "Temporal does not know its workflow: nobody works on it")
		w.WaitingFor, w.NextAt, w.Next = "", nil, LostNext
		w.Commands = append(w.Commands, fmt.Sprintf("temper node recover %s --force --reason WHY", n.label()))
		return
	}
	watch, cancel := fmt.Sprintf("temper operation watch %d", o.ID), fmt.Sprintf("temper operation cancel %d", o.ID)
	p := pauseNow(o, f.Run)
	if p == nil && o.Stalled != StallMaintenance { // it goes on by now
		w.What = fmt.Sprintf("%s, operation %d (%s) is %s", n.ProvisionState, o.ID, o.Kind, o.unpaused())
	}
	if p != nil && !o.Ending() {
		w.What = fmt.Sprintf("%s, operation %d (%s) is %s", n.ProvisionState, o.ID, o.Kind, PausedState)
		if !p.At.IsZero() {
			w.Since = &p.At
		}
		w.Trouble = append(w.Trouble, "It is "+p.Words()+p.rest())
		w.WaitingFor, w.NextAt = "", nil
		w.Next = nextStep(o) + ", when somebody lets it go on"
		w.Commands = append(w.Commands, UnpauseCommand(o.ID))
		if st := o.Undecided(); st != nil {
			for _, a := range st.Choices() {
				w.Commands = append(w.Commands, fmt.Sprintf("temper operation %s %d", a, o.ID))
			}
		}
		w.Commands = append(w.Commands, cancel)
		return
	}
	if o.Ending() {
		w.ending(o)
		w.Commands = append(w.Commands, watch)
		if o.Phase != Undoing && o.Asked == AskAbort {
			w.Commands = append(w.Commands, cancel)
		}
		return
	}
	w.Next = nextStep(o)
	if st := o.Undecided(); st != nil {
		w.Trouble = append(w.Trouble, fmt.Sprintf("Step %s failed: %s", st.Name(), sentence(st.LastError)))
		w.Next = "it fails unless somebody decides"
		for _, a := range st.Choices() {
			w.Commands = append(w.Commands, fmt.Sprintf("temper operation %s %d", a, o.ID))
		}
		return
	}
	if st := o.CurrentStep(); st != nil && o.Stalled == StallDeaths {
		w.Trouble = append(w.Trouble, sentence(st.LastError))
		w.Next, w.exact = "another try of step "+st.Name(), true
	}
	w.Commands = append(w.Commands, watch)
	if Can(n.ProvisionState, EventUnhold) {
		w.Commands = append(w.Commands, "temper node unhold "+n.label())
	}
	w.Commands = append(w.Commands, cancel)
}

// LostNext is what happens to an operation whose workflow Temporal does not know.
const LostNext = "reconciliation ends it when Temporal has not known it for some seconds or, where very many are unknown at once, for ten minutes " +
	"(\"temper operation recover --lost-temporal --reason WHY\" says that they are lost)"

// owner says for whom the operation is, and on which conductor.
func (w *Why) owner(o *Operation, f Facts) {
	var who []string
	if o.RequestedBy != "" {
		who = append(who, "asked for by "+o.RequestedBy)
	}
	switch c := conductorOf(f.Fleet, o.Conductor); {
	case o.Conductor == "":
	case c == nil:
		who = append(who, "last on conductor "+o.Conductor+", which is not alive")
	case !c.Alive:
		who = append(who, fmt.Sprintf("last on conductor %s, which is not alive (last heartbeat %s ago)", c.Hostname, ago(f.Now, c.HeartbeatAt)))
	default:
		who = append(who, fmt.Sprintf("on conductor %s (last heartbeat %s ago)", c.Hostname, ago(f.Now, c.HeartbeatAt)))
	}
	w.Who = strings.Join(who, ", ")
}

func (w *Why) ending(o *Operation) {
	if o.Asked.Ends() {
		w.Asked = string(o.Asked)
		if o.AskedBy != "" {
			w.Asked += " by " + o.AskedBy
		}
		w.Asked += because(o.AskedReason)
	}
	if o.Phase != Undoing { // what it waited for matters no more
		w.WaitingFor, w.NextAt = "", nil
	}
	undo := "it ends"
	if left := UndoAtEnd(o, Cancelled); len(left) > 0 {
		undo = "what it did is undone (" + Undos(left) + "), then it ends"
	}
	if o.Asked == AskDelete {
		undo += " and the node is given back"
	}
	if s := o.CurrentStep(); o.Asked == AskAbort && o.Phase != Undoing && s != nil && s.State == StepRunning {
		undo = "step " + s.Name() + " ends, then " + undo
	}
	w.Next = undo
}

func nextStep(o *Operation) string {
	step := o.CurrentStep()
	switch {
	case step == nil:
		return "it closes"
	case step.LastError == "":
		return "step " + step.Name()
	case step.Attempts == 0:
		return fmt.Sprintf("step %s (last error: %s)", step.Name(), sentence(step.LastError))
	}
	return fmt.Sprintf("step %s (begun %s, last error: %s)", step.Name(), times(step.Attempts), sentence(step.LastError))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// sentence is s without its full stop.
func sentence(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".") }

// resting is a node that nobody holds.
func (w *Why) resting(n *Node, f Facts, name string) {
	w.What = string(n.ProvisionState) + ", nobody holds it"
	if len(n.Owed) > 0 {
		w.owing(n, f)
	}
	failed := n.LastError != "" && (Fails(n.ProvisionState) || n.ProvisionState == ErrorState || n.ProvisionState == Enroll)
	if failed {
		w.What += ": " + sentence(n.LastError)
	}
	if p := f.Previous; p != nil && failed && f.Covered && p.Outcome != Succeeded && !p.Kind.Spec().Undoes && admits(n, VerbOf(p.Kind.Spec().Verb), f) {
		w.Commands = append(w.Commands, fmt.Sprintf("temper operation retry %d", p.ID))
	}
	for _, v := range Verbs {
		if v.Kind == "" && v.Event != EventManage || v.Event == EventRebuild || !admits(n, v, f) {
			continue
		}
		if c := "temper node " + commandOf(v.Event) + " " + name; !slices.Contains(w.Commands, c) {
			w.Commands = append(w.Commands, c)
		}
	}
}

// admits reports whether the verb would be accepted of a node that nobody holds.
func admits(n *Node, v Verb, f Facts) bool {
	d, err := Admit(n, v, "")
	return err == nil && (f.Covered || d.Open == "")
}

// commandOf is the subcommand of temper node for an event.
func commandOf(e Event) string {
	if e == EventDelete {
		return "undeploy"
	}
	return string(e)
}

func (n *Node) label() string {
	if n.Name != "" {
		return n.Name
	}
	return n.UUID
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func moment(t time.Time) string { return t.UTC().Format(time.DateTime + " MST") }

// ago is how long t is past; clocks may differ a little.
func ago(now, t time.Time) time.Duration { return max(now.Sub(t), 0).Round(time.Second) }

// since describes a time and how long ago it is, "" if it is not known.
func since(t *time.Time, now time.Time) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf(" since %s (%s)", moment(*t), ago(now, *t))
}

func (w *Why) paragraph(first string, now time.Time) string {
	out := append([]string{first}, w.Trouble...)
	if w.Who != "" {
		out = append(out, "It is "+w.Who)
	}
	if w.Asked != "" {
		out = append(out, "It is asked to end: "+w.Asked)
	}
	switch w.WaitingFor {
	case "":
	case PausedWords:
		out = append(out, "It is "+PausedWords)
	default:
		out = append(out, "It waits for "+w.WaitingFor)
	}
	switch {
	case w.Next != "" && w.NextAt != nil && w.exact:
		out = append(out, fmt.Sprintf("Next: %s, at %s (in %s)", w.Next, moment(*w.NextAt), w.NextAt.Sub(now).Round(time.Second)))
	case w.Next != "" && w.NextAt != nil:
		out = append(out, fmt.Sprintf("Next: %s, at %s at the latest (in %s)", w.Next, moment(*w.NextAt), w.NextAt.Sub(now).Round(time.Second)))
	case w.Next != "":
		out = append(out, "Next: "+w.Next)
	}
	if len(w.Commands) > 0 {
		out = append(out, "You can: "+strings.Join(w.Commands, "; "))
	}
	return strings.Join(out, ". ") + "."
}
