package node

import (
	"slices"

	"go.temper.dev/temper/internal/fault"
)

//go:generate go test -run ^TestThePicture . -update

// Rule is one transition.
type Rule struct {
	From  State
	Event Event
	To    State
}

// Rules is the whole life cycle: Ironic's 93 transitions (common/state_machine.py).
// What is not here is refused, and the state of a node that exists changes nowhere else.
var Rules = []Rule{
	{Enroll, EventManage, Verifying},

	{Verifying, EventDone, Manageable},
	{Verifying, EventFail, Enroll},

	{Manageable, EventProvide, Cleaning},
	{Manageable, EventClean, Cleaning},
	{Manageable, EventInspect, Inspecting},
	{Manageable, EventAdopt, Adopting},

	{Available, EventDeploy, Deploying},
	{Available, EventManage, Manageable},

	{Deploying, EventWait, DeployWait},
	{Deploying, EventHold, DeployHold},
	{Deploying, EventDone, Active},
	{Deploying, EventFail, DeployFailed},

	{DeployWait, EventResume, Deploying},
	{DeployWait, EventHold, DeployHold},
	{DeployWait, EventFail, DeployFailed},
	{DeployWait, EventAbort, DeployFailed},
	{DeployWait, EventDelete, Deleting},

	{DeployHold, EventUnhold, DeployWait},
	{DeployHold, EventAbort, DeployFailed},

	{DeployFailed, EventDeploy, Deploying},
	{DeployFailed, EventRebuild, Deploying},
	{DeployFailed, EventDelete, Deleting},

	{Active, EventRebuild, Deploying},
	{Active, EventDelete, Deleting},
	{Active, EventRescue, Rescuing},
	{Active, EventService, Servicing},

	{ErrorState, EventRebuild, Deploying},
	{ErrorState, EventDelete, Deleting},

	{Deleting, EventClean, Cleaning},
	{Deleting, EventFail, ErrorState},

	{Cleaning, EventWait, CleanWait},
	{Cleaning, EventHold, CleanHold},
	{Cleaning, EventDone, Available},
	{Cleaning, EventManage, Manageable}, // how manual cleaning ends, and cleaning of a retired node
	{Cleaning, EventFail, CleanFailed},

	{CleanWait, EventResume, Cleaning},
	{CleanWait, EventHold, CleanHold},
	{CleanWait, EventFail, CleanFailed},
	{CleanWait, EventAbort, CleanFailed},

	{CleanHold, EventUnhold, CleanWait},
	{CleanHold, EventAbort, CleanFailed},

	{CleanFailed, EventManage, Manageable},

	{Inspecting, EventWait, InspectWait},
	{Inspecting, EventDone, Manageable},
	{Inspecting, EventFail, InspectFailed},

	{InspectWait, EventResume, Inspecting},
	{InspectWait, EventDone, Manageable},
	{InspectWait, EventFail, InspectFailed},
	{InspectWait, EventAbort, InspectFailed},

	{InspectFailed, EventInspect, Inspecting},
	{InspectFailed, EventManage, Manageable},

	{Adopting, EventDone, Active},
	{Adopting, EventFail, AdoptFailed},

	{AdoptFailed, EventAdopt, Adopting},
	{AdoptFailed, EventManage, Manageable},

	{Rescuing, EventWait, RescueWait},
	{Rescuing, EventDone, Rescue},
	{Rescuing, EventFail, RescueFailed},

	{RescueWait, EventResume, Rescuing},
	{RescueWait, EventFail, RescueFailed},
	{RescueWait, EventAbort, RescueFailed},
	{RescueWait, EventDelete, Deleting},

	{Rescue, EventRescue, Rescuing},
	{Rescue, EventUnrescue, Unrescuing},
	{Rescue, EventDelete, Deleting},

	{RescueFailed, EventRescue, Rescuing},
	{RescueFailed, EventUnrescue, Unrescuing},
	{RescueFailed, EventDelete, Deleting},

	{Unrescuing, EventDone, Active},
	{Unrescuing, EventFail, UnrescueFailed},

	{UnrescueFailed, EventRescue, Rescuing},
	{UnrescueFailed, EventUnrescue, Unrescuing},
	{UnrescueFailed, EventDelete, Deleting},

	{Servicing, EventWait, ServiceWait},
	{Servicing, EventHold, ServiceHold},
	{Servicing, EventDone, Active},
	{Servicing, EventFail, ServiceFailed},

	{ServiceWait, EventResume, Servicing},
	{ServiceWait, EventHold, ServiceHold},
	{ServiceWait, EventFail, ServiceFailed},
	{ServiceWait, EventAbort, ServiceFailed},
	{ServiceWait, EventDelete, Deleting},

	{ServiceHold, EventUnhold, ServiceWait},
	{ServiceHold, EventService, Servicing},
	{ServiceHold, EventFail, ServiceFailed},
	{ServiceHold, EventAbort, ServiceFailed},

	{ServiceFailed, EventService, Servicing},
	{ServiceFailed, EventRescue, Rescuing},
	{ServiceFailed, EventWait, ServiceWait},
	{ServiceFailed, EventHold, ServiceHold},
	{ServiceFailed, EventDelete, Deleting},
	{ServiceFailed, EventAbort, Active},
}

type edge struct {
	from  State
	event Event
}

var next = func() map[edge]State {
	m := make(map[edge]State, len(Rules))
	for _, r := range Rules {
		m[edge{r.From, r.Event}] = r.To
	}
	return m
}()

// Next is the state that e leads to from from; fault.NotAllowed where the table has no such pair.
func Next(from State, e Event) (State, error) {
	to, ok := next[edge{from, e}]
	if !ok {
		return "", fault.New(fault.NotAllowed, "the life cycle has no event %q in state %q", e, from)
	}
	return to, nil
}

// Can reports whether the table has event e in state from.
func Can(from State, e Event) bool {
	_, ok := next[edge{from, e}]
	return ok
}

// States are all provision states, in the table's order.
func States() []State {
	var out []State
	for _, r := range Rules {
		if !slices.Contains(out, r.From) {
			out = append(out, r.From)
		}
	}
	return out
}
