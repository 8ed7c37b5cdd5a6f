package node

import (
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// Moved is what a transition writes to the node's row.
type Moved struct {
	From, To State
	Target   State // target_provision_state after it; "" = null
	// ClearInstance: instance_info, instance_uuid and name, the lessee that came
	// with the instance, VIFs and the allocation go. So it is whenever a node
	// leaves deleting, into cleaning or into error (Ironic's finally).
	ClearInstance bool
	Inspection    InspectionClock
}

// InspectionClock says what becomes of inspection_started_at and _finished_at.
type InspectionClock int

// What it may say (Ironic db/sqlalchemy/api.py, _do_update_node).
const (
	InspectionKeep   InspectionClock = iota
	InspectionStarts                 // started = now, finished = null
	InspectionEnds                   // started = null, finished = now
	InspectionFails                  // started = null
)

// Move is the transition e of n by the life-cycle table: what a step that goes
// on writes. fault.NotAllowed where the table has none.
func Move(n *Node, e Event) (Moved, error) {
	to, err := Next(n.ProvisionState, e)
	if err != nil {
		return Moved{}, err
	}
	return moved(n, to), nil
}

// Admitted is the same for a decision of Admit: what accepting a request writes.
func Admitted(n *Node, d Decision) Moved {
	m := moved(n, d.To)
	m.Target = d.Target
	return m
}

func moved(n *Node, to State) Moved {
	want := n.TargetProvisionState
	if n.Operation != nil && n.Operation.Kind.Provisions() {
		want = n.Operation.Target
	}
	from := n.ProvisionState
	m := Moved{From: from, To: to, Target: TargetIn(to, want), ClearInstance: from == Deleting && to != Deleting}
	inspected := from == Inspecting || from == InspectWait
	switch {
	case to == Inspecting && !inspected:
		m.Inspection = InspectionStarts
	case to == Manageable && inspected:
		m.Inspection = InspectionEnds
	case to == InspectFailed:
		m.Inspection = InspectionFails
	}
	return m
}

// Effects is what closing an operation writes to its node, in the transaction
// that closes it.
type Effects struct {
	Moved
	Events []Event // the way from From to To, each a rule of the table

	LastError  string // "" = null
	ClearAgent bool   // url, token and heartbeats of the agent go
	// SetMaintenance with its reason and fault; without it they stay as they are.
	SetMaintenance    bool
	MaintenanceReason string
	Fault             string
	Owed              []Undo // what the node owes now: the undos that were not done
	FollowUp          Kind   // operation to open at once; "" = the node is free
}

// Closing is what end does to n, whose open operation it closes (ironic.md,
// section 2, Effects). It looks at where the node is, not only at how the
// operation ended: a request that steered it has moved the node already, and
// that stands. fault.Internal where the table has no way.
func Closing(n *Node, end End) (Effects, error) {
	o := n.Operation
	if o == nil {
		return Effects{}, fault.New(fault.Internal, "close operation %d: node %s has none open", end.Operation, n.UUID)
	}
	e := Effects{Moved: moved(n, n.ProvisionState), LastError: lastError(o, end), Owed: union(n.Owed, o.Undo)}
	if !o.Kind.Provisions() {
		e.Target = n.TargetProvisionState
		if o.Kind == KindUndo {
			e.LastError = n.LastError // of the work that left the debt
			if before, _, owing := strings.Cut(n.LastError, UndoLeft); owing && end.Outcome == Succeeded {
				e.LastError = fmt.Sprintf("%s; what it left is undone since, by operation %d", before, o.ID)
			}
		}
		return e, nil
	}
	e.ClearAgent = o.Kind != KindManage
	if n.ProvisionState == Deleting && o.Kind != KindUndeploy { // deleted, while it waited
		e.Target, e.FollowUp, e.LastError = Available, KindUndeploy, ""
		return e, nil
	}
	for _, event := range way(n, end.Outcome) {
		to, err := Next(e.To, event)
		if err != nil {
			return Effects{}, fault.New(fault.Internal, "close operation %d of node %s: %w", o.ID, n.UUID, err)
		}
		e.To, e.Events = to, append(e.Events, event)
	}
	e.Moved = moved(n, e.To)
	if end.Outcome == Failed && e.To == CleanFailed && inCleanStep(o) {
		e.SetMaintenance, e.Fault, e.MaintenanceReason = true, FaultClean, e.LastError
		if n.MaintenanceReason != "" {
			e.MaintenanceReason = n.MaintenanceReason // an operator's reason is not overwritten
		}
	}
	return e, nil
}

// way are the events that end n's operation where n is now; none where the node
// has left the transient states already.
func way(n *Node, outcome Outcome) []Event {
	s, k := n.ProvisionState, n.Operation.Kind
	switch {
	case !Transient(s):
		return nil
	case outcome != Succeeded && Holds(s):
		return []Event{EventAbort}
	case outcome != Succeeded:
		return []Event{EventFail}
	}
	end := EventDone
	if k == KindClean || n.Retired && (k == KindProvide || k == KindUndeploy) {
		end = EventManage
	}
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

func lastError(o *Operation, end End) string {
	switch {
	case end.Outcome == Succeeded:
		return ""
	case end.Error != "":
		return end.Error
	case end.Outcome == Cancelled && o.Kind == KindInspect:
		return "Inspection was aborted by request."
	case end.Outcome == Cancelled:
		return "By request, the " + string(o.Kind) + " operation was aborted"
	}
	return "The " + string(o.Kind) + " operation failed; nobody said why"
}

func union(a, b []Undo) []Undo {
	out := slices.Clone(a)
	for _, u := range b {
		if !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}
