// Package oracle judges what has become of a node, given what was requested of it and what its server saw. It is an
// independent model, made from Ironic's documentation of the provision states and of what each verb does to the power, and
// shares no code with the program that it judges.
package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Request is a verb that was sent.
type Request struct {
	At      time.Time
	Verb    string
	Sure    bool // it was answered with 202; if not, it may have been accepted or not
	Instant bool // it opens no operation: it moves the node at once
}

// Operation is an operation of the node.
type Operation struct {
	ID       string
	Kind     string
	Target   string // of a power operation: the power state asked for
	Accepted time.Time
	Ended    time.Time // zero = it is still open
	Outcome  string    // succeeded, failed, cancelled
	Restarts int       // how often the ramdisk was booted once more, because its agent was lost
	PutOff   []string  // steps whose next try was put off because conductors had died during it
}

// Action is a power change that a server made.
type Action struct {
	At time.Time
	To string // on, off
}

// Final is the state of the node and its server at the end.
type Final struct {
	State       string
	Reservation string
	Maintenance bool
	Powered     bool
	Media       string
	Override    string
}

// way says where a kind of operation leads from a state.
type way struct {
	done   string
	failed []string
}

// ways: state -> kind of operation -> where it leads (Ironic, "Bare Metal State Machine").
var ways = map[string]map[string]way{
	"enroll":         {"manage": {"manageable", []string{"enroll"}}},
	"manageable":     {"provide": {"available", []string{"clean failed"}}, "clean": {"manageable", []string{"clean failed"}}, "inspect": {"manageable", []string{"inspect failed"}}},
	"available":      {"deploy": {"active", []string{"deploy failed"}}},
	"active":         {"rebuild": {"active", []string{"deploy failed"}}, "undeploy": {"available", []string{"error", "clean failed"}}},
	"deploy failed":  {"deploy": {"active", []string{"deploy failed"}}, "rebuild": {"active", []string{"deploy failed"}}, "undeploy": {"available", []string{"error", "clean failed"}}},
	"error":          {"rebuild": {"active", []string{"deploy failed"}}, "undeploy": {"available", []string{"error", "clean failed"}}},
	"inspect failed": {"inspect": {"manageable", []string{"inspect failed"}}},
}

// instants: state -> verb -> state, where no work is needed.
var instants = map[string]map[string]string{
	"available":      {"manage": "manageable"},
	"clean failed":   {"manage": "manageable"},
	"inspect failed": {"manage": "manageable"},
}

// Verbs returns the verbs that are allowed in a state.
func Verbs(state string) []string {
	var out []string
	for kind := range ways[state] {
		out = append(out, verbs[kind])
	}
	for verb := range instants[state] {
		out = append(out, verb)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var verbs = map[string]string{
	"manage": "manage", "provide": "provide", "clean": "clean", "inspect": "inspect", "deploy": "active", "rebuild": "rebuild", "undeploy": "deleted",
}

// Instant reports whether a verb moves a node in that state at once.
func Instant(state, verb string) bool { _, ok := instants[state][verb]; return ok }

// Judge returns everything that the history does not explain.
func Judge(requests []Request, operations []Operation, actions []Action, end Final) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	slices.SortFunc(operations, func(a, b Operation) int { return a.Accepted.Compare(b.Accepted) })
	slices.SortFunc(requests, func(a, b Request) int { return a.At.Compare(b.At) })
	states := []string{"enroll"}
	powered := false
	for i, o := range operations {
		if len(o.PutOff) > 0 {
			say("operation %s (%s): conductors are said to have died of %v, and they die of nothing but the soak", o.ID, o.Kind, o.PutOff)
		}
		states = instantly(states, requests, o.Accepted)
		if o.Ended.IsZero() {
			say("operation %s (%s) never ended", o.ID, o.Kind)
			return wrong
		}
		if i+1 < len(operations) && operations[i+1].Accepted.Before(o.Ended) {
			say("operation %s (%s) was accepted while %s (%s) was open", operations[i+1].ID, operations[i+1].Kind, o.ID, o.Kind)
		}
		next, ok := follow(states, o)
		if !ok {
			say("operation %s (%s, %s): nothing leads there from %v", o.ID, o.Kind, o.Outcome, states)
			return wrong
		}
		states = next
		made := between(actions, o.Accepted, o.Ended)
		if words := judgePower(o, powered, made); words != "" {
			say("operation %s (%s, %s): %s", o.ID, o.Kind, o.Outcome, words)
		}
		if len(made) > 0 {
			powered = made[len(made)-1] == "on"
		}
	}
	states = instantly(states, requests, time.Time{})
	if !slices.Contains(states, end.State) {
		say("the node is %q, and its history leads to %v", end.State, states)
	}
	if stray := strays(actions, operations); len(stray) > 0 {
		say("the power was changed while no operation was open: %v", stray)
	}
	if end.Reservation != "" {
		say("the node is reserved by %q", end.Reservation)
	}
	if end.Powered != powered {
		say("the server is on: %t, and by what it did it is %t", end.Powered, powered)
	}
	if !end.Maintenance && (end.Media != "" || end.Override != "") {
		say("media %q is in, and the boot override is %q", end.Media, end.Override)
	}
	return wrong
}

// instantly are the states after the instant requests that were made before a time, which are used up; zero = all.
func instantly(states []string, requests []Request, until time.Time) []string {
	for i := range requests {
		r := &requests[i]
		if !r.Instant || r.Verb == "" || !until.IsZero() && r.At.After(until) {
			continue
		}
		var next []string
		for _, s := range states {
			if to, ok := instants[s][r.Verb]; ok {
				next = append(next, to)
			}
			if !r.Sure || len(instants[s]) == 0 {
				next = append(next, s)
			}
		}
		if len(next) > 0 {
			slices.Sort(next)
			states = slices.Compact(next)
		}
		r.Verb = ""
	}
	return states
}

// follow returns the states that an operation leads to.
func follow(states []string, o Operation) ([]string, bool) {
	if o.Kind == "power" || o.Kind == "undo" {
		return states, true
	}
	var next []string
	for _, s := range states {
		w, ok := ways[s][o.Kind]
		if !ok {
			continue
		}
		if o.Outcome == "succeeded" {
			next = append(next, w.done)
		} else {
			next = append(next, w.failed...)
		}
	}
	slices.Sort(next)
	return slices.Compact(next), len(next) > 0
}

// judgePower compares the power changes during an operation with those that it needs.
func judgePower(o Operation, on bool, made []string) string {
	was := on
	for _, to := range made {
		if (to == "on") == was {
			return fmt.Sprintf("the power was switched %v, and it was on: %t", made, on)
		}
		was = to == "on"
	}
	if o.Outcome != "succeeded" || o.Kind == "undo" {
		return ""
	}
	want := changes(o, on)
	if strings.Join(want, " ") != strings.Join(made, " ") {
		return fmt.Sprintf("the power was switched %v, and it is done with %v", made, want)
	}
	return ""
}

// changes are the power changes with which an operation is done from a server that is on or off: each boot of the ramdisk
// begins from off.
func changes(o Operation, on bool) []string {
	var begin []string
	if on {
		begin = []string{"off"}
	}
	ramdisk := append(begin, "on", "off")
	for range o.Restarts {
		ramdisk = append(ramdisk, "on", "off")
	}
	switch o.Kind {
	case "provide", "clean", "undeploy":
		return ramdisk
	case "deploy", "rebuild":
		return append(ramdisk, "on")
	case "power":
		switch o.Target {
		case "power on":
			if !on {
				return []string{"on"}
			}
			return nil
		case "rebooting", "soft rebooting":
			return append(begin, "on")
		}
		return begin
	}
	return nil
}

func between(actions []Action, from, to time.Time) []string {
	var out []string
	for _, a := range actions {
		if !a.At.Before(from) && !a.At.After(to) {
			out = append(out, a.To)
		}
	}
	return out
}

// strays returns the changes that no operation explains.
func strays(actions []Action, operations []Operation) []string {
	var out []string
	for _, a := range actions {
		if !slices.ContainsFunc(operations, func(o Operation) bool { return !a.At.Before(o.Accepted) && !a.At.After(o.Ended) }) {
			out = append(out, a.To+" at "+a.At.Format(time.RFC3339Nano))
		}
	}
	return out
}
