package node

import "slices"

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
