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
	Covered  bool       // a live conductor could work on the node
	Worker   bool       // the conductor of the open operation is alive
	Previous *Operation // the newest one that has ended; nil = none
}

// Why says of a node what happens to it, and what somebody can do about it.
type Why struct {
	What       string     `json:"what"`
	Since      *time.Time `json:"since"`
	Who        string     `json:"who"`
	WaitingFor string     `json:"waiting_for"`
	Next       string     `json:"next"`
	NextAt     *time.Time `json:"next_at"`
	Commands   []string   `json:"commands"`
	Text       string     `json:"text"` // all of it, one paragraph
}

// WhyOf reads only its arguments.
func WhyOf(n *Node, f Facts) Why {
	w := Why{Commands: []string{}, Since: n.ProvisionUpdatedAt}
	name := n.Name
	if name == "" {
		name = n.UUID
	}
	if o := n.Operation; o != nil {
		w.held(n, o, f)
	} else {
		w.resting(n, f, name)
	}
	if n.Maintenance {
		w.What += ", in maintenance" + because(n.MaintenanceReason)
		w.Commands = append(w.Commands, "temper node maintenance unset "+name)
	}
	w.Text = w.paragraph(name, f.Now)
	return w
}

// held is a node with an open operation.
func (w *Why) held(n *Node, o *Operation, f Facts) {
	w.What = fmt.Sprintf("%s, operation %d (%s) is %s", n.ProvisionState, o.ID, o.Kind, o.Phase)
	w.Since, w.WaitingFor, w.NextAt = &o.AcceptedAt, o.WaitingFor, o.WaitingUntil
	if o.RequestedBy != "" {
		w.Who = "asked for by " + o.RequestedBy
	}
	step := o.CurrentStep()
	switch {
	case step == nil:
		w.Next = "it closes"
	case step.LastError != "":
		w.Next = fmt.Sprintf("step %s (begun %d times, last error: %s)", step.Name(), step.Attempts, step.LastError)
	default:
		w.Next = "step " + step.Name()
	}
	switch {
	case o.Conductor != "" && f.Worker:
		w.Who = strings.TrimPrefix(w.Who+", on conductor "+o.Conductor, ", ")
	case o.Conductor != "":
		w.Who = strings.TrimPrefix(w.Who+", last on conductor "+o.Conductor+", which is not alive", ", ")
	}
	if !f.Covered && w.WaitingFor == "" {
		w.WaitingFor = WaitsForConductor(o.Group, o.Driver)
	}
	id := fmt.Sprint(o.ID)
	if st := o.Undecided(); st != nil {
		w.Next = "it fails unless somebody decides"
		for _, a := range st.Choices() {
			w.Commands = append(w.Commands, "temper operation "+string(a)+" "+id)
		}
		return
	}
	w.Commands = append(w.Commands, "temper operation watch "+id)
	if Can(n.ProvisionState, EventUnhold) {
		w.Commands = append(w.Commands, "temper node unhold "+n.label())
	}
	w.Commands = append(w.Commands, "temper operation cancel "+id)
}

// resting is a node that nobody holds.
func (w *Why) resting(n *Node, f Facts, name string) {
	w.What = string(n.ProvisionState) + ", nobody holds it"
	if len(n.Owed) > 0 {
		w.Next = "an undo of what earlier work left: " + joined(n.Owed)
		if !f.Covered {
			w.WaitingFor = WaitsForConductor(n.ConductorGroup, n.Driver)
		}
	}
	failed := n.LastError != "" && (Fails(n.ProvisionState) || n.ProvisionState == ErrorState || n.ProvisionState == Enroll)
	if failed {
		w.What += ": " + n.LastError
	}
	if p := f.Previous; p != nil && failed && p.Outcome != Succeeded && p.Kind != KindUndo && Can(n.ProvisionState, Again(p.Kind)) {
		w.Commands = append(w.Commands, fmt.Sprintf("temper operation retry %d", p.ID))
	}
	for _, v := range Verbs {
		if v.Kind == "" && v.Event != EventManage || !Can(n.ProvisionState, v.Event) || v.Event == EventRebuild {
			continue
		}
		if c := "temper node " + commandOf(v.Event) + " " + name; !slices.Contains(w.Commands, c) {
			w.Commands = append(w.Commands, c)
		}
	}
	if !f.Covered && w.WaitingFor == "" && !Stable(n.ProvisionState) {
		w.WaitingFor = WaitsForConductor(n.ConductorGroup, n.Driver)
	}
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

func (w *Why) paragraph(name string, now time.Time) string {
	out := []string{fmt.Sprintf("Node %s is %s", name, w.What)}
	if w.Since != nil {
		out[0] += fmt.Sprintf(" since %s (%s)", w.Since.UTC().Format(time.DateTime+" MST"), now.Sub(*w.Since).Round(time.Second))
	}
	if w.Who != "" {
		out = append(out, "It is "+w.Who)
	}
	if w.WaitingFor != "" {
		out = append(out, "It waits for "+w.WaitingFor)
	}
	switch {
	case w.Next != "" && w.NextAt != nil:
		out = append(out, fmt.Sprintf("Next: %s, at %s at the latest (in %s)", w.Next, w.NextAt.UTC().Format(time.DateTime+" MST"), w.NextAt.Sub(now).Round(time.Second)))
	case w.Next != "":
		out = append(out, "Next: "+w.Next)
	}
	if len(w.Commands) > 0 {
		out = append(out, "You can: "+strings.Join(w.Commands, "; "))
	}
	return strings.Join(out, ". ") + "."
}
