package node

import "slices"

// OfferedSteps are the steps that implementations offer, by where they are listed.
func OfferedSteps() map[string]StepSpec {
	out := map[string]StepSpec{}
	for _, h := range hardware {
		for iface, impls := range h.Implementations {
			for _, i := range impls {
				for _, f := range []Family{DeployFamily, CleanFamily} {
					for _, s := range i.steps(f) {
						s.Interface = iface
						out[h.Name+", "+iface+" "+i.Name+", "+string(f)+" step "+s.Step] = s
					}
				}
			}
		}
	}
	return out
}

// Allowed are the events of a state, in the table's order; nil for an unknown state.
func Allowed(from State) []Event {
	var out []Event
	for _, r := range Rules {
		if r.From == from {
			out = append(out, r.Event)
		}
	}
	return out
}

// Events are all events, in the table's order.
func Events() []Event {
	var out []Event
	for _, r := range Rules {
		if !slices.Contains(out, r.Event) {
			out = append(out, r.Event)
		}
	}
	return out
}

// FailedState returns where a node in the transient state s goes when its work fails or is
// cancelled; "" for states in which nothing runs.
func FailedState(s State) State { return stateSpecs[s].failed }
