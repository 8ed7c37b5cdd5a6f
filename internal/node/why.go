package node

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// RunStatus is what Temporal knows of an operation's workflow run.
type RunStatus struct {
	Known, Open bool
	How         string // closed: completed, failed, canceled, terminated, timed out
	ClosedAt    time.Time
}

// Facts is what Why needs beside the node.
type Facts struct {
	Now      time.Time
	Covered  bool        // a live conductor could work on the node
	Fleet    []Conductor // all, alive or not
	Previous *Operation  // the newest one that has ended; nil = none
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
	if n.Maintenance {
		w.What += ", in maintenance"
		if n.Fault != "" {
			w.What += " with fault " + n.Fault
		}
		w.What += because(n.MaintenanceReason)
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
	w.Text = w.paragraph(name, f.Now)
	return w
}

// uncovered says why nobody could work on the node.
func (w *Why) uncovered(n *Node, f Facts) {
	since := ""
	if q := n.Quarantine; q != nil && !q.Since.IsZero() {
		since = fmt.Sprintf(" since %s (%s)", moment(q.Since), ago(f.Now, q.Since))
	}
	if f.Covered {
		if n.Quarantine != nil {
			w.Trouble = append(w.Trouble, fmt.Sprintf("It is in quarantine, offered to nobody: its conductors come and go%s, and it is released by itself when they have stayed for %s", since, FlapHold))
		}
		return
	}
	text := fmt.Sprintf("No live conductor covers it%s: none with driver %s in conductor group %q has its interfaces and takes work. "+
		"It is offered to nobody, new work on it is refused, and it is released by itself when one is back", since, n.Driver, n.ConductorGroup)
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
		if c.Alive && !c.Draining && c.Group != n.ConductorGroup && c.Covers(c.Group, n.Driver, n.Interfaces) && !slices.Contains(out, c.Group) {
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
	w.What = fmt.Sprintf("%s, operation %d (%s) is %s", n.ProvisionState, o.ID, o.Kind, o.Phase)
	w.Since, w.WaitingFor, w.NextAt = &o.AcceptedAt, o.WaitingFor, o.WaitingUntil
	if s := Unattended(o, f); s != "" {
		w.Trouble = append(w.Trouble, s)
	}
	w.owner(o, f)
	if !f.Covered && w.WaitingFor == "" {
		w.WaitingFor = WaitsForConductor(o.Group, o.Driver)
	}
	if r := f.Run; r != nil && r.Known && !r.Open {
		w.Trouble = append(w.Trouble, fmt.Sprintf("Its workflow was %s at %s: nobody works on it any more", r.How, moment(r.ClosedAt)))
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
	if o.Ending() {
		w.ending(o)
		w.Commands = append(w.Commands, watch)
		if o.Phase != Cancelling && o.Asked == AskAbort {
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

// Ending reports whether the operation is on its way out: nothing but its undo
// follows, at the latest after the present step.
func (o *Operation) Ending() bool {
	switch o.Asked {
	case AskCancel, AskAbort, AskDelete:
		return true
	}
	return o.Phase == Cancelling
}

func (w *Why) ending(o *Operation) {
	if o.Asked == AskCancel || o.Asked == AskAbort || o.Asked == AskDelete {
		w.Asked = string(o.Asked)
		if o.AskedBy != "" {
			w.Asked += " by " + o.AskedBy
		}
		w.Asked += because(o.AskedReason)
	}
	if o.Phase != Cancelling { // what it waited for matters no more
		w.WaitingFor, w.NextAt = "", nil
	}
	undo := "it ends"
	if left := UndoAtEnd(o, Cancelled); len(left) > 0 {
		undo = "what it did is undone (" + joined(left) + "), then it ends"
	}
	if o.Asked == AskDelete {
		undo += " and the node is given back"
	}
	if s := o.CurrentStep(); o.Asked == AskAbort && o.Phase != Cancelling && s != nil && s.State == StepRunning {
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
	if p := f.Previous; p != nil && failed && f.Covered && p.Outcome != Succeeded && p.Kind != KindUndo && admits(n, VerbOf(verbs[p.Kind]), f) {
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

// owing says when what earlier work left is undone.
func (w *Why) owing(n *Node, f Facts) {
	w.Next = "an undo of what earlier work left: " + joined(n.Owed)
	switch {
	case n.Maintenance && !n.MaintenanceByFault:
		w.WaitingFor = "the end of maintenance"
	case !f.Covered:
		w.WaitingFor = WaitsForConductor(n.ConductorGroup, n.Driver)
	}
	if f.Late && f.Reconciled >= 0 {
		w.Trouble = append(w.Trouble, fmt.Sprintf("No orchestrator has reconciled for %s: nothing is undone until one runs", f.Reconciled.Round(time.Second)))
	}
}

// admits reports whether the verb would be accepted of a node that nobody holds.
func admits(n *Node, v Verb, f Facts) bool {
	d, err := Admit(n, v, "")
	return err == nil && (f.Covered || d.Move)
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

func joined(list []Undo) string {
	out := make([]string, len(list))
	for i, u := range list {
		out[i] = string(u)
	}
	return strings.Join(out, ", ")
}

func moment(t time.Time) string { return t.UTC().Format(time.DateTime + " MST") }

// ago is how long t is past; clocks may differ a little.
func ago(now, t time.Time) time.Duration { return max(now.Sub(t), 0).Round(time.Second) }

func (w *Why) paragraph(name string, now time.Time) string {
	out := []string{fmt.Sprintf("Node %s is %s", name, w.What)}
	if w.Since != nil {
		out[0] += fmt.Sprintf(" since %s (%s)", moment(*w.Since), ago(now, *w.Since))
	}
	out = append(out, w.Trouble...)
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
