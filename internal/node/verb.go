package node

import "slices"

// Verb is a word that clients PUT to states/provision, and what it means.
type Verb struct {
	Target string // the word
	Event  Event  // "" if the word is no verb
	// Kind is the kind of operation that it opens; "" for verbs that only act on an
	// open operation (abort, unhold).
	Kind  OperationKind
	Minor int   // the first microversion, 1.Minor, that has it
	State State // target_provision_state of the operation that it opens; "" = none

	NotProtected bool // it is refused for a protected node
	// NotRetired and NotInMaintenance: it is refused for a retired node, or for one in
	// maintenance. They are what the error calls it; "" = it is not refused.
	// admission.Verb refuses deploy and rebuild in maintenance before anything else, as Ironic does.
	NotRetired, NotInMaintenance string
}

// Verbs are all words of states/provision (api/controllers/v1/utils.py,
// versions.py). Two of them have an alias.
var Verbs = []Verb{
	{Target: "active", Event: EventDeploy, Kind: KindDeploy, Minor: 1, State: Active},
	{Target: "deploy", Event: EventDeploy, Kind: KindDeploy, Minor: 73, State: Active},
	{Target: "rebuild", Event: EventRebuild, Kind: KindRebuild, Minor: 1, State: Active, NotProtected: true},
	{Target: "deleted", Event: EventDelete, Kind: KindUndeploy, Minor: 1, State: Available, NotProtected: true},
	{Target: "undeploy", Event: EventDelete, Kind: KindUndeploy, Minor: 73, State: Available, NotProtected: true},
	{Target: "manage", Event: EventManage, Kind: KindManage, Minor: 4, State: Manageable},
	{Target: "provide", Event: EventProvide, Kind: KindProvide, Minor: 4, State: Available, NotRetired: "providing"},
	{Target: "inspect", Event: EventInspect, Kind: KindInspect, Minor: 6, State: Manageable},
	{Target: "abort", Event: EventAbort, Minor: 13},
	{Target: "clean", Event: EventClean, Kind: KindClean, Minor: 15, State: Manageable, NotInMaintenance: "cleaning"},
	{Target: "adopt", Event: EventAdopt, Kind: KindAdopt, Minor: 17, State: Active},
	{Target: "rescue", Event: EventRescue, Kind: KindRescue, Minor: 38, State: Rescue},
	{Target: "unrescue", Event: EventUnrescue, Kind: KindUnrescue, Minor: 38, State: Active},
	{Target: "unhold", Event: EventUnhold, Minor: 85},
	{Target: "service", Event: EventService, Kind: KindService, Minor: 87, State: Active, NotInMaintenance: "servicing"},
}

// VerbOf returns the verb for a word. For an unknown word it returns a verb without an
// event, which admission.Verb refuses in every state, as Ironic does.
func VerbOf(target string) Verb {
	for _, v := range Verbs {
		if v.Target == target {
			return v
		}
	}
	return Verb{Target: target}
}

// Deploys reports whether the verb writes an image, so that it takes deploy steps and a config drive.
func (v Verb) Deploys() bool { return v.Kind.Spec().Family == DeployFamily }

// Verb returns the verb that opens operations of kind k: the first one, if it has an
// alias. It returns the zero Verb for a kind that changes no provision state.
func (k OperationKind) Verb() Verb {
	if i := slices.IndexFunc(Verbs, func(v Verb) bool { return v.Kind == k }); i >= 0 && k != "" {
		return Verbs[i]
	}
	return Verb{}
}

// Two wait states got the event abort in later microversions than the verb itself.
const (
	minorAbortInspect = 41
	minorAbortDeploy  = 110
)

// MinorIn returns the first microversion, 1.N, in which the verb can be used on a node in
// state s.
func (v Verb) MinorIn(s State) int {
	if v.Event == EventAbort {
		switch s {
		case InspectWait:
			return minorAbortInspect
		case DeployWait:
			return minorAbortDeploy
		}
	}
	return v.Minor
}

// Steers reports whether the verb, on a node in s, acts on the open operation instead of
// being refused until that has ended.
func (v Verb) Steers(s State) bool {
	if !Can(s, v.Event) {
		return false
	}
	switch v.Event {
	case EventAbort:
		return Waits(s) || Holds(s)
	case EventUnhold:
		return Holds(s)
	case EventDelete:
		return Waits(s)
	}
	return false
}

// Reached reports whether s is the target state of a verb for e.
func Reached(s State, e Event) bool {
	return slices.ContainsFunc(Verbs, func(v Verb) bool { return v.Event == e && v.State == s })
}

// VerbsTo returns the verbs, in order, that bring a node at rest in s to a state in which e is
// possible, without harm to the instance on it. It returns nil if none do, or if e is possible in s.
func VerbsTo(s State, e Event) []Event {
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

// StatesFor returns the states in which a client may ask for e: states at rest, and states
// in which the verb acts on the open operation. In the others only the conductor at work
// causes the events of the table.
func StatesFor(e Event) []State {
	var from []State
	for _, r := range Rules {
		if r.Event == e && (!Transient(r.From) || Verb{Event: e}.Steers(r.From)) {
			from = append(from, r.From)
		}
	}
	return from
}
