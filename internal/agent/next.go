package agent

import (
	"slices"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// Order is a command that a step needs the agent to run.
type Order struct {
	Command   string `json:"command"`             // "deploy.execute_deploy_step"
	Interface string `json:"interface,omitempty"` // of the step; both empty for
	Step      string `json:"step,omitempty"`      // commands that run no step
}

// Issued is the record that an order is about to be sent. It is stored before the POST. The
// agent accepts no request id, so only this record and the agent's own list show whether the
// POST arrived.
type Issued struct {
	Order
	// Before is how many commands the list had, After the id of the last one. An agent that
	// was rebooted since does not have this id.
	Before int    `json:"before"`
	After  string `json:"after,omitempty"`
}

// Issue returns the record for o. list is the agent's list as it was read right before.
func Issue(o Order, list []Result) Issued {
	i := Issued{Order: o, Before: len(list)}
	if n := len(list); n > 0 {
		i.After = list[n-1].ID
	}
	return i
}

// Action is what to do about an order.
type Action string

// The actions.
const (
	ActIssue    Action = "issue"    // send it: store the record, then POST
	ActWait     Action = "wait"     // it runs: read the list again later
	ActDone     Action = "done"     // it succeeded: Found has the result
	ActFail     Action = "fail"     // it failed: Err has the agent's explanation
	ActRelist   Action = "relist"   // the hardware managers changed: list the steps again
	ActRebooted Action = "rebooted" // it was sent, and the agent was rebooted since: the caller decides
	ActBusy     Action = "busy"     // another command runs: read the list again later
)

// OrderDecision is the result of Next.
type OrderDecision struct {
	Action Action
	Found  *Result // the order's own entry, if there is one
	Err    error   // for ActFail, ActRelist, ActRebooted and ActBusy
}

// Next decides what to do about the order o. given is the record that it was sent (nil: it
// never was), list the agent's current list. Next does no I/O.
//
// The agent runs one command at a time, lists it without its extension, keeps the results in
// memory and loses them with a reboot (ironic-python-agent, extensions/base.py). Ironic looks
// at the last command only: another name, or success of another step, means that its own
// command has not begun (ironic/drivers/modules/agent_base.py, _get_completed_command); an
// empty list, or a single get_*_steps, means that the agent has just booted.
//
// A POST that is still under way when the next conductor calls Next would be sent twice. That
// can't happen: a request ends before the heartbeat timeout of the step that sent it, and the
// next attempt begins after that timeout.
func Next(o Order, given *Issued, list []Result) OrderDecision {
	running := slices.IndexFunc(list, func(r Result) bool { return r.Status == Running })
	if given == nil || given.Order != o {
		if running >= 0 {
			return busyDecision(list[running])
		}
		return OrderDecision{Action: ActIssue}
	}
	since, sameBoot := given.newerThan(list)
	for n := len(since) - 1; n >= 0; n-- {
		if found := since[n]; o.matches(found) {
			return o.decide(found)
		}
	}
	switch {
	case running >= 0:
		return busyDecision(list[running])
	case sameBoot:
		// The list begins before the order and does not contain it: the POST never arrived,
		// so that sending it now sends it once.
		return OrderDecision{Action: ActIssue}
	}
	return OrderDecision{Action: ActRebooted, Err: fault.Coded(fault.AgentRebooted,
		"the agent was rebooted while %s ran, and its result is lost", o)}
}

// newerThan returns the part of the list that is newer than the record, and whether the list
// is certainly of the same boot as the record.
func (i *Issued) newerThan(list []Result) (newer []Result, sameBoot bool) {
	if i.After != "" {
		at := slices.IndexFunc(list, func(r Result) bool { return r.ID == i.After })
		return list[at+1:], at >= 0
	}
	if len(list) < i.Before {
		return list, false
	}
	// Without an id only the count is known. It shows which commands are newer. It proves the
	// same boot only if the list has commands that an agent which has just booted has not.
	return list[i.Before:], i.Before > 0 && !FreshlyBooted(list)
}

// FreshlyBooted reports whether the agent has got no commands yet, except to list its steps.
func FreshlyBooted(list []Result) bool {
	for _, r := range list {
		switch r.Name {
		case BareName(GetDeploySteps), BareName(GetCleanSteps), BareName(GetServiceSteps):
		default:
			return false
		}
	}
	return true
}

// decide returns the decision for the order's own entry in the list.
func (o Order) decide(found Result) OrderDecision {
	d := OrderDecision{Found: &found}
	switch {
	case found.Status == Running:
		d.Action = ActWait
	case found.Status == Succeeded:
		d.Action = ActDone
	case found.Status.VersionsDiffer():
		d.Action = ActRelist
		d.Err = fault.Coded(fault.AgentCommandFailed, "the agent's hardware managers changed before %s: %s", o, OneLine(found.Error.Text()))
	default: // FAILED, and statuses of newer agents
		d.Action = ActFail
		d.Err = fault.CodedAs(fault.Refused, CauseOf(found.Error), "%s (%s failed)", OneLine(found.Error.Text()), o)
	}
	return d
}

// matches reports whether an entry can be the order's: it has the same command and the same
// step, if it names one. A command that succeeded has its step in the result; one that runs or
// failed has it only in its parameters, which some agents leave out.
func (o Order) matches(r Result) bool {
	if r.Name != BareName(o.Command) && r.Name != o.Command {
		return false
	}
	step := stepOf(r)
	return o.Step == "" || step == nil ||
		step.Step == o.Step && (step.Interface == o.Interface || step.Interface == "")
}

// stepName is the identity of a step, without its args, which may contain a config drive.
type stepName struct {
	Step      string `json:"step"`
	Interface string `json:"interface"`
}

func stepOf(r Result) *stepName {
	var done struct {
		Deploy  *stepName `json:"deploy_step"`
		Clean   *stepName `json:"clean_step"`
		Service *stepName `json:"service_step"`
	}
	var asked struct {
		Step *stepName `json:"step"`
	}
	// An entry that can't be decoded names no step, which is no error here.
	_ = r.Decode(&done)
	if len(r.Params) > 0 {
		_ = jsonvalue.Unmarshal(r.Params, &asked)
	}
	for _, s := range []*stepName{done.Deploy, done.Clean, done.Service, asked.Step} {
		if s != nil && s.Step != "" {
			return s
		}
	}
	return nil
}

func busyDecision(r Result) OrderDecision {
	return OrderDecision{Action: ActBusy, Err: fault.Coded(fault.AgentBusy, "the agent still runs %s", OneLine(r.Name))}
}

// String returns the order's name for errors.
func (o Order) String() string {
	switch {
	case o.Step == "":
		return o.Command
	case o.Interface == "":
		return o.Step
	}
	return o.Interface + "." + o.Step
}
