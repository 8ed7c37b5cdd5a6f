// Package closing says what the end of an operation does to its node.
package closing

import (
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Operation returns what end does to n, whose open operation it closes. It looks at where the node is, not only at how the
// operation ended: a request that steered it has moved the node already, and
// that stands. fault.Internal where the table has no way.
func Operation(n *node.Node, end node.End) (Ending, error) {
	o := n.Operation
	if o == nil {
		return Ending{}, fault.New(fault.Internal, "close operation %d: node %s has none open", end.Operation, n.UUID)
	}
	e := Ending{Failure: failure(o, end)}
	e.LastError = e.Failure.Error
	e.owedAfter(n, end)
	k := o.Kind.Spec()
	switch {
	case !k.Provisions():
		e.LastError = e.errorOfOtherWork(n, end)
	case n.ProvisionState == node.Deleting && !k.GivesBack: // deleted, while it waited
		e.ClearAgent, e.FollowUp, e.LastError = k.Family != node.NoFamily, node.KindUndeploy, ""
	default:
		e.ClearAgent, e.Events = k.Family != node.NoFamily, remainingEvents(n, end.Outcome)
	}
	var err error
	if e.Transition, err = node.Move(n, e.Events...); err != nil {
		return Ending{}, fault.New(fault.Internal, "close operation %d of node %s: %w", o.ID, n.UUID, err)
	}
	if f := faultIn[e.To]; f != "" && k.Provisions() && end.Outcome == node.Failed && inStep(o) {
		e.SetMaintenance, e.Fault, e.MaintenanceReason = true, f, e.LastError
		if n.MaintenanceReason != "" {
			e.MaintenanceReason = n.MaintenanceReason // an operator's reason is not overwritten
		}
	}
	e.History = e.historyEvent(n, end)
	return e, nil
}

// historyEvent is the line of the history about an operation that is closed. An undo that
// fails as the one before it did, and that reconciliation goes on trying, is no news.
func (e *Ending) historyEvent(n *node.Node, end node.End) node.HistoryEvent {
	o := n.Operation
	if o.Kind.Spec().Undoes && end.Outcome == node.Failed && end.Error == n.OwedError {
		return node.HistoryEvent{}
	}
	h := node.HistoryEvent{
		Event: string(o.Kind) + " " + string(end.Outcome) + ": " + e.Words(), EventType: node.HistoryState, Severity: "INFO",
		Conductor: o.Conductor, User: end.By, Operation: o.ID,
	}
	if end.Outcome == node.Failed {
		h.EventType, h.Severity = node.HistoryError, "ERROR"
	}
	if end.Error != "" {
		h.Event += ": " + end.Error
	}
	if end.Again {
		h.Event += ": its workflow had completed before the database was restored from a backup"
	}
	return h
}

// remainingEvents are the events that end n's operation where n is now; none where the node
// has left the transient states already.
func remainingEvents(n *node.Node, outcome node.Outcome) []node.Event {
	s := n.ProvisionState
	switch {
	case !node.Transient(s):
		return nil
	case outcome != node.Succeeded:
		return []node.Event{node.FailureEvent(s)}
	}
	target := n.EndsIn(n.Operation.Kind)
	// Automated cleaning may be off, and the operation may have ended while it waited.
	for _, way := range [][]node.Event{nil, {node.EventClean}, {node.EventResume}, {node.EventUnhold, node.EventResume}} {
		if end := endEvent(s, way, target); end != "" {
			return append(slices.Clone(way), end)
		}
	}
	return []node.Event{node.EventDone}
}

// endEvent returns the event that moves a node from s to target after the events of way; "" if
// there is none.
func endEvent(s node.State, way []node.Event, target node.State) node.Event {
	for _, e := range way {
		next, err := node.Next(s, e)
		if err != nil {
			return ""
		}
		s = next
	}
	i := slices.IndexFunc(node.Rules, func(r node.Rule) bool { return r.From == s && r.To == target })
	if i < 0 {
		return ""
	}
	return node.Rules[i].Event
}

// faultIn is the fault, with maintenance, of a node that a failed step leaves in a state (Ironic conductor/utils.py,
// cleaning_error_handler and servicing_error_handler).
var faultIn = map[node.State]string{node.CleanFailed: node.FaultClean, node.ServiceFailed: node.FaultService}

// inStep reports whether a clean or service step, in Ironic's sense, was at work:
// getting the agent up and down is none.
func inStep(o *node.Operation) bool {
	return slices.ContainsFunc(o.Steps, func(s node.Step) bool {
		return s.Source != node.SourceCore && (s.State == node.StepRunning || s.State == node.StepWaiting || s.State == node.StepFailed)
	})
}

// errorBefore separates, in a node's last error, the error of a failed power request
// from the error that put the node into its failed state.
const errorBefore = "; before that: "

// joinPowerError returns the last error of a node in a failed state after a power
// request. power is the request's error, "" if it succeeded; it replaces the error
// of an earlier power request in last.
func joinPowerError(power, last string) string {
	if _, before, both := strings.Cut(last, errorBefore); both {
		last = before
	}
	if power == "" || last == "" {
		return power + last
	}
	return power + errorBefore + last
}

// errorOfOtherWork returns the last error of n after an operation that does not provision
// it. Why n is in a failed state outlasts a power request. A request to the management
// or the vendor interface that was answered before it began, as of a boot mode, replaces it, and others change nothing of it. What an undo settles is told in the error of the work
// that left it.
func (e *Ending) errorOfOtherWork(n *node.Node, end node.End) string {
	o, k, settled := n.Operation, n.Operation.Kind.Spec(), len(e.Owed) == 0
	switch {
	case k.PowerChange && node.KeepsError(n.ProvisionState):
		text := joinPowerError(e.LastError, n.LastError)
		if settled && len(n.Owed) > 0 {
			text = node.Undone(text, node.UndoneBy(o.ID))
		}
		return text
	case k.Undoes && settled && end.Outcome == node.Succeeded:
		return node.Undone(n.LastError, node.UndoneBy(o.ID))
	case k.Answered && !node.KeepsError(n.ProvisionState):
		return e.LastError // none after a success
	case k.Undoes, k.Management:
		return n.LastError // whoever sent the request gets its error as the answer
	}
	return e.LastError
}

// failure is why o has not succeeded. The words for an end that was asked for are Ironic's.
func failure(o *node.Operation, end node.End) node.Failure {
	f := node.Failure{Error: end.Error, Cause: end.Cause}
	switch end.Outcome {
	case node.Succeeded:
		return node.Failure{}
	case node.Cancelled:
		f.Cause = o.AskedCause()
	}
	switch {
	case f.Error != "":
	case end.Outcome == node.Cancelled && o.Kind.Spec().Family == node.InspectFamily:
		f.Error = "Inspection was aborted by request."
	case end.Outcome == node.Cancelled:
		f.Error = "By request, the " + string(o.Kind) + " operation was aborted"
	default:
		f.Error = "The " + string(o.Kind) + " operation failed; nobody said why"
	}
	return f.Complete()
}
