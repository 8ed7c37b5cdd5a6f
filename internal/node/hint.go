package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// heldError marks a refusal whose reason is the node's open operation.
type heldError struct{ error }

func (e heldError) Unwrap() error { return e.error }

// Hinted adds to the refusal of e ("" = nothing of the life cycle) on n one
// sentence that names what would work; the refusal's own words stay first. Other
// errors are given back as they are.
func Hinted(err error, n *Node, e Event) error {
	hint := ""
	switch held := (heldError{}); {
	case errors.As(err, &held) || fault.Is(err, fault.NotAllowed) && n.Operation != nil:
		hint = hintHeld(n)
	case fault.Is(err, fault.NotAllowed) && e != "":
		hint = hintWay(n, e)
	}
	if hint == "" {
		return err
	}
	words := err.Error()
	if !strings.HasSuffix(words, ".") {
		words += "."
	}
	return fault.New(fault.KindOf(err), "%s %s", words, hint)
}

// hintHeld says how to learn of the open operation, and how to end it.
func hintHeld(n *Node) string {
	see := fmt.Sprintf(`See "temper node why %s"`, n.hintLabel())
	o := n.Operation
	switch {
	case o == nil:
		return see + "."
	case o.Asked == AskCancel || o.Asked == AskDelete:
		return fmt.Sprintf("%s; operation %d is being ended.", see, o.ID)
	case o.Undecided() != nil:
		return fmt.Sprintf(`%s; "temper operation retry %d" or "temper operation abort %d" decides.`, see, o.ID, o.ID)
	}
	return fmt.Sprintf(`%s; "temper operation cancel %d" ends it.`, see, o.ID)
}

// hintWay says how a node at rest comes to where e is possible.
func hintWay(n *Node, e Event) string {
	s := n.ProvisionState
	if Reached(s, e) {
		return fmt.Sprintf("It is %s already.", s)
	}
	if way := Way(s, e); len(way) > 0 {
		var first []string
		for _, step := range way {
			first = append(first, fmt.Sprintf(`"temper node %s %s"`, commandOf(step), n.hintLabel()))
		}
		return "First: " + strings.Join(first, ", then ") + "."
	}
	if from := PossibleIn(e); len(from) > 0 {
		return "That is possible in: " + joinStates(from) + "."
	}
	return ""
}

// maxLabel bounds the name in a hint; a longer one gives way to the UUID.
const maxLabel = 64

func (n *Node) hintLabel() string {
	if len(n.Name) > maxLabel {
		return n.UUID
	}
	return n.label()
}

// Reached reports whether s is what a verb of e would lead to.
func Reached(s State, e Event) bool {
	return slices.ContainsFunc(Verbs, func(v Verb) bool { return v.Event == e && v.State == s })
}

// Way are the verbs that bring a node at rest in s to where e is possible, without
// harm to what runs on it; nil = none do, or e is possible in s.
func Way(s State, e Event) []Event {
	if Transient(s) || e == EventAbort || e == EventUnhold {
		return nil
	}
	type way struct {
		state State
		verbs []Event
	}
	for queue := []way{{state: s}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if Can(at.state, e) {
			return at.verbs
		}
		for _, next := range []way{{Manageable, []Event{EventManage}}, {Available, []Event{EventProvide}}} {
			if Can(at.state, next.verbs[0]) && len(at.verbs) < 2 {
				queue = append(queue, way{next.state, append(slices.Clone(at.verbs), next.verbs...)})
			}
		}
	}
	return nil
}

// PossibleIn are all states in which a client may ask for e: those at rest, and
// those in which the verb steers what is open. While a conductor works, the events
// of the table are its own.
func PossibleIn(e Event) []State {
	var from []State
	for _, r := range Rules {
		if r.Event == e && (!Transient(r.From) || Verb{Event: e}.Steers(r.From)) {
			from = append(from, r.From)
		}
	}
	return from
}
