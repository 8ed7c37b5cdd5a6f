package agent

import (
	"encoding/json"
	"slices"

	"go.temper.dev/temper/internal/fault"
)

// Order is one command that a step needs done.
type Order struct {
	Command   string `json:"command"`             // "deploy.execute_deploy_step"
	Interface string `json:"interface,omitempty"` // of the step; both empty for
	Step      string `json:"step,omitempty"`      // commands that run no step
}

// Issued is the record that an order is about to be given. It is durable
// before the POST, because the agent takes no request id: what tells whether
// the POST arrived is this record and the agent's own list.
type Issued struct {
	Order
	// Before is how many commands the list had, After the id of the last of
	// them. The same agent process still has that id; a rebooted one has not.
	Before int    `json:"before"`
	After  string `json:"after,omitempty"`
}

// Issue makes the record for o from the list as it was read just before.
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
	ActIssue    Action = "issue"    // give it: write the record, then POST
	ActWait     Action = "wait"     // it runs: ask again later
	ActDone     Action = "done"     // it succeeded: Found has the result
	ActFail     Action = "fail"     // it failed: Err has the agent's words
	ActRelist   Action = "relist"   // its hardware managers changed: list the steps again
	ActRebooted Action = "rebooted" // it was given, and the agent has forgotten it: the caller decides
	ActBusy     Action = "busy"     // something else runs: ask again later
)

// Decision is the answer of Next.
type Decision struct {
	Action Action
	Found  *Result // the order's own entry, if there is one
	Err    error   // for ActFail, ActRelist, ActRebooted and ActBusy
}

// Next decides what to do about the order o, from the record that it was given
// (nil: it never was) and from the agent's list. It asks nobody and may be
// asked as often as one likes.
//
// The agent runs one command at a time, names it without its extension, keeps
// the results in memory and loses them with a reboot (ironic-python-agent,
// extensions/base.py). Ironic looks at the last command only: another name, or
// success of another step, means that its own has not begun
// (ironic/drivers/modules/agent_base.py, _get_completed_command); an empty
// list, or one get_*_steps, means a fresh boot.
//
// A POST that is under way while a successor asks here would be given twice.
// That can't be: a request ends before the heartbeat timeout of the step that
// sent it, and the successor begins after.
func Next(o Order, given *Issued, list []Result) Decision {
	running := slices.IndexFunc(list, func(r Result) bool { return r.Status == Running })
	if given == nil || given.Order != o {
		if running >= 0 {
			return busy(list[running])
		}
		return Decision{Action: ActIssue}
	}
	since, sameBoot := given.since(list)
	for n := len(since) - 1; n >= 0; n-- {
		if found := since[n]; o.matches(found) {
			return o.judge(found)
		}
	}
	switch {
	case running >= 0:
		return busy(list[running])
	case sameBoot:
		// The list reaches back to before the order, and it isn't in it: the
		// POST never arrived, so giving it now gives it once.
		return Decision{Action: ActIssue}
	}
	return Decision{Action: ActRebooted, Err: fault.New(fault.Refused,
		"the agent was rebooted while %s ran, and its result is lost", o)}
}

// since is the part of the list that is newer than the record, and whether the
// list is provably of the same boot as the record.
func (i *Issued) since(list []Result) (newer []Result, sameBoot bool) {
	if i.After != "" {
		at := slices.IndexFunc(list, func(r Result) bool { return r.ID == i.After })
		return list[at+1:], at >= 0
	}
	if len(list) < i.Before {
		return list, false
	}
	// Without an id the count is all there is. It cuts off what was there
	// before, and proves the boot only where more than a fresh agent has is left.
	return list[i.Before:], i.Before > 0 && !FreshlyBooted(list)
}

// FreshlyBooted reports whether nothing was asked of an agent yet but its steps.
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

// judge says what an order's own entry means.
func (o Order) judge(found Result) Decision {
	d := Decision{Found: &found}
	switch {
	case found.Status == Running:
		d.Action = ActWait
	case found.Status == Succeeded:
		d.Action = ActDone
	case found.Status.VersionsDiffer():
		d.Action = ActRelist
		d.Err = fault.New(fault.Refused, "the agent's hardware managers changed before %s: %s", o, Words(found.Error.Text()))
	default: // FAILED, and whatever a newer agent may invent
		d.Action = ActFail
		d.Err = fault.New(fault.Refused, "%s failed: %s", o, Words(found.Error.Text()))
	}
	return d
}

// matches reports whether an entry can be the order's: the same command and,
// where the entry says so, the same step. A success tells its step in the
// result; a running or failed one only in its parameters, which some agents
// leave out.
func (o Order) matches(r Result) bool {
	if r.Name != BareName(o.Command) && r.Name != o.Command {
		return false
	}
	step := stepOf(r)
	return o.Step == "" || step == nil ||
		step.Step == o.Step && (step.Interface == o.Interface || step.Interface == "")
}

// stepName is as much of a step as tells it from another; its args may hold a
// whole config drive.
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
	// What can't be read tells no step; that is no error here.
	_ = r.Decode(&done)
	if len(r.Params) > 0 {
		_ = json.Unmarshal(r.Params, &asked)
	}
	for _, s := range []*stepName{done.Deploy, done.Clean, done.Service, asked.Step} {
		if s != nil && s.Step != "" {
			return s
		}
	}
	return nil
}

func busy(r Result) Decision {
	return Decision{Action: ActBusy, Err: fault.New(fault.Busy, "the agent still runs %s", Words(r.Name))}
}

// String names an order for errors.
func (o Order) String() string {
	switch {
	case o.Step == "":
		return o.Command
	case o.Interface == "":
		return o.Step
	}
	return o.Interface + "." + o.Step
}
