package node

import (
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// Closing returns what end does to n, whose open operation it closes (ironic.md,
// section 2, Effects). It looks at where the node is, not only at how the
// operation ended: a request that steered it has moved the node already, and
// that stands. fault.Internal where the table has no way.
func Closing(n *Node, end End) (Ending, error) {
	o := n.Operation
	if o == nil {
		return Ending{}, fault.New(fault.Internal, "close operation %d: node %s has none open", end.Operation, n.UUID)
	}
	e := Ending{LastError: lastError(o, end)}
	e.owedAfter(n, end)
	k := o.Kind.Spec()
	switch {
	case !k.Provisions():
		e.LastError = e.errorBeside(n, end)
	case n.ProvisionState == Deleting && !k.GivesBack: // deleted, while it waited
		e.ClearAgent, e.FollowUp, e.LastError = k.Family != NoFamily, KindUndeploy, ""
	default:
		e.ClearAgent, e.Events = k.Family != NoFamily, way(n, end.Outcome)
	}
	var err error
	if e.Transition, err = Move(n, e.Events...); err != nil {
		return Ending{}, fault.New(fault.Internal, "close operation %d of node %s: %w", o.ID, n.UUID, err)
	}
	if k.Provisions() && end.Outcome == Failed && e.To == CleanFailed && inCleanStep(o) {
		e.SetMaintenance, e.Fault, e.MaintenanceReason = true, FaultClean, e.LastError
		if n.MaintenanceReason != "" {
			e.MaintenanceReason = n.MaintenanceReason // an operator's reason is not overwritten
		}
	}
	e.History = e.closed(n, end)
	return e, nil
}

// closed is the line of the history about an operation that is closed. An undo that
// fails as the one before it did, and that reconciliation goes on trying, is no news.
func (e *Ending) closed(n *Node, end End) HistoryEvent {
	o := n.Operation
	if o.Kind.Spec().Undoes && end.Outcome == Failed && end.Error == n.OwedError {
		return HistoryEvent{}
	}
	h := HistoryEvent{
		Event: string(o.Kind) + " " + string(end.Outcome) + ": " + e.Words(), EventType: HistoryState, Severity: "INFO",
		Conductor: o.Conductor, User: end.By, Operation: o.ID,
	}
	if end.Outcome == Failed {
		h.EventType, h.Severity = HistoryError, "ERROR"
	}
	if end.Error != "" {
		h.Event += ": " + end.Error
	}
	return h
}

// way are the events that end n's operation where n is now; none where the node
// has left the transient states already.
func way(n *Node, outcome Outcome) []Event {
	s := n.ProvisionState
	switch {
	case !Transient(s):
		return nil
	case outcome != Succeeded:
		return []Event{failing(s)}
	}
	end := n.Operation.Kind.Spec().ends(n)
	switch {
	case Can(s, end) && !Holds(s):
		return []Event{end}
	case s == Deleting: // automated cleaning is off
		return []Event{EventClean, end}
	case Holds(s):
		return []Event{EventUnhold, EventResume, end}
	}
	return []Event{EventResume, end}
}

// inCleanStep reports whether a clean step, in Ironic's sense, was at work:
// getting the agent up and down is none.
func inCleanStep(o *Operation) bool {
	return slices.ContainsFunc(o.Steps, func(s Step) bool {
		return s.Source != SourceCore && (s.State == StepRunning || s.State == StepWaiting || s.State == StepFailed)
	})
}

// keepsError reports whether the last error of a node in state s explains the state.
// A power request that succeeds does not erase it then (Ironic conductor/utils.py,
// node_power_action, FAILURE_STATES).
func keepsError(s State) bool { return Fails(s) || s == ErrorState }

// errorBefore separates, in a node's last error, the error of a failed power request
// from the error that put the node into its failed state.
const errorBefore = "; before that: "

// besidePower returns the last error of a node in a failed state after a power
// request. power is the request's error, "" if it succeeded; it replaces the error
// of an earlier power request in last.
func besidePower(power, last string) string {
	if _, before, both := strings.Cut(last, errorBefore); both {
		last = before
	}
	if power == "" || last == "" {
		return power + last
	}
	return power + errorBefore + last
}

// errorBeside returns the last error of n after an operation that does not provision
// it: why n is in a failed state outlasts a power request, and what an undo settles
// is told in the error of the work that left it.
func (e *Ending) errorBeside(n *Node, end End) string {
	o, k, settled := n.Operation, n.Operation.Kind.Spec(), len(e.Owed) == 0
	switch {
	case k.PowerChange && keepsError(n.ProvisionState):
		text := besidePower(e.LastError, n.LastError)
		if settled && len(n.Owed) > 0 {
			text = Undone(text, UndoneBy(o.ID))
		}
		return text
	case k.Undoes && settled && end.Outcome == Succeeded:
		return Undone(n.LastError, UndoneBy(o.ID))
	case k.Undoes:
		return n.LastError // of the work that left what is owed
	}
	return e.LastError
}

func lastError(o *Operation, end End) string {
	switch {
	case end.Outcome == Succeeded:
		return ""
	case end.Error != "":
		return end.Error
	case end.Outcome == Cancelled && o.Kind.Spec().Family == InspectFamily:
		return "Inspection was aborted by request."
	case end.Outcome == Cancelled:
		return "By request, the " + string(o.Kind) + " operation was aborted"
	}
	return "The " + string(o.Kind) + " operation failed; nobody said why"
}
