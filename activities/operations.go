package activities

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Ledger is the operations' book: what the database knows of them.
type Ledger interface {
	Begin(ctx context.Context, operation int64, runID string) (*node.Operation, error)
	Operation(ctx context.Context, id int64) (*node.Operation, error)
	Node(ctx context.Context, ident string) (*node.Node, error)
	Covered(ctx context.Context, group, driver string, interfaces map[string]string) ([]string, error)
	Covering(ctx context.Context, group, driver string, interfaces map[string]string) ([]node.Host, error)
	CloseOperation(ctx context.Context, end node.End, followUp func(*node.Node) (*node.Operation, error)) (*node.Operation, error)
	SetUndo(ctx context.Context, operation int64, runID string, undo []node.Undo) error
}

// Starter starts an operation's workflow. Started already is success.
type Starter interface {
	Start(ctx context.Context, o *node.Operation) error
}

// Operations are the activities that touch only the database. They run on
// orchestrators, as local activities.
type Operations struct {
	Ledger  Ledger
	Starter Starter
	Policy  Policy
	// Ended counts operations by kind and outcome; may be nil.
	Ended func(k node.Kind, o node.Outcome, took time.Duration)
}

// Policy are the times that workflows work by; recorded in each history.
type Policy struct {
	HeartbeatTimeout time.Duration // of hardware steps
	WaitForConductor time.Duration // how long steps wait for a conductor that covers the node
	StepsTimeout     time.Duration // the most that one run of steps may take. Default 48 h
	AutomatedClean   bool          // for nodes that don't say
}

// longestSteps is the default of Policy.StepsTimeout: erasing disks takes hours
// or a day; what never ends is caught by its heartbeats and its own limits.
const longestSteps = 48 * time.Hour

// Brief is what a workflow needs to know of its operation.
type Brief struct {
	Group            string        `json:"group"`
	Driver           string        `json:"driver"`
	HeartbeatTimeout time.Duration `json:"heartbeat_timeout"`
	WaitForConductor time.Duration `json:"wait_for_conductor"`
	StepsTimeout     time.Duration `json:"steps_timeout"`
}

// Begin records that this run is the operation's. Another run, or an operation
// that has ended, is fault.Lost.
func (a *Operations) Begin(ctx context.Context, operation int64) (Brief, error) {
	o, err := a.Ledger.Begin(ctx, operation, activity.GetInfo(ctx).WorkflowExecution.RunID)
	if err != nil {
		return Brief{}, typed(err)
	}
	a.at(ctx, chaos.Beginning, operation)
	wait := a.Policy.WaitForConductor
	if o.Kind == node.KindUndo {
		wait = min(wait, undoWait)
	}
	return Brief{
		Group: o.Group, Driver: o.Driver, HeartbeatTimeout: a.Policy.HeartbeatTimeout,
		WaitForConductor: wait, StepsTimeout: cmp.Or(a.Policy.StepsTimeout, longestSteps),
	}, nil
}

// Sight is what the row says to a workflow that waits.
type Sight struct {
	GoOn       bool   `json:"go_on,omitempty"`     // the agent has called, the hold is lifted, or a power request is there
	EndAsked   bool   `json:"end_asked,omitempty"` // cancel, abort or delete
	WaitingFor string `json:"waiting_for,omitempty"`
}

// Look reads whether what the operation waits for has come.
func (a *Operations) Look(ctx context.Context, operation int64) (Sight, error) {
	o, err := a.Ledger.Operation(ctx, operation)
	if err != nil {
		return Sight{}, typed(err)
	}
	if o.EndedAt != nil {
		return Sight{}, typed(fault.New(fault.Lost, "operation %d has ended", operation))
	}
	s := Sight{WaitingFor: o.WaitingFor}
	switch o.Asked {
	case node.AskCancel, node.AskDelete:
		s.EndAsked = true
		return s, nil
	case node.AskAbort:
		// A step that is not abortable goes on until it is over, also where it
		// waits for its agent meanwhile.
		if step := o.CurrentStep(); step == nil || step.Abortable {
			s.EndAsked = true
			return s, nil
		}
	case node.AskPower, node.AskUnhold:
		s.GoOn = true
		return s, nil
	}
	n, err := a.Ledger.Node(ctx, o.NodeUUID)
	if err != nil {
		return Sight{}, typed(err)
	}
	s.GoOn = !node.Holds(n.ProvisionState) && (o.Phase == node.Holding || n.AgentCalled(o.Kind))
	return s, nil
}

// UndoPlan says whether a conductor is to be asked to undo.
type UndoPlan struct {
	Needed  bool `json:"needed"`
	Covered bool `json:"covered"` // a live conductor could do it now
}

// PlanUndo writes into the row what has to be put right now that the operation
// ends so and not in success, and says who could do it.
func (a *Operations) PlanUndo(ctx context.Context, operation int64, outcome node.Outcome) (UndoPlan, error) {
	o, err := a.Ledger.Operation(ctx, operation)
	if err != nil {
		return UndoPlan{}, typed(err)
	}
	undo := undoOf(o, outcome)
	if err := a.Ledger.SetUndo(ctx, operation, activity.GetInfo(ctx).WorkflowExecution.RunID, undo); err != nil {
		return UndoPlan{}, typed(err)
	}
	if len(undo) == 0 {
		return UndoPlan{}, nil
	}
	n, err := a.Ledger.Node(ctx, o.NodeUUID)
	if err != nil {
		return UndoPlan{}, typed(err)
	}
	hosts, err := a.Ledger.Covered(ctx, o.Group, o.Driver, n.Interfaces)
	if err != nil {
		return UndoPlan{}, typed(err)
	}
	return UndoPlan{Needed: true, Covered: len(hosts) > 0}, nil
}

// undoOf is what has to be put right when the operation ends short of success:
// what its steps left, except that cleaning that fails leaves the power as it is
// (Ironic's poweroff_in_cleanfail = False). Cleaning that somebody ended does not.
// A deploy that has begun ends powered off whatever its steps left
// (power_off_after_deploy_failure = True).
func undoOf(o *node.Operation, outcome node.Outcome) []node.Undo {
	var out []node.Undo
	cleaning := o.Kind == node.KindProvide || o.Kind == node.KindClean || o.Kind == node.KindUndeploy
	for _, u := range o.Undo {
		if u == node.UndoPowerOff && cleaning && outcome == node.Failed {
			continue
		}
		out = append(out, u)
	}
	deploying := o.Kind == node.KindDeploy || o.Kind == node.KindRebuild
	begun := slices.ContainsFunc(o.Steps, func(s node.Step) bool { return s.StartedAt != nil })
	if deploying && begun && !contains(out, node.UndoPowerOff) {
		out = append(out, node.UndoPowerOff)
	}
	return out
}

// EndInput closes an operation.
type EndInput struct {
	Operation int64        `json:"operation"`
	Outcome   node.Outcome `json:"outcome"`
	Error     string       `json:"error,omitempty"`
}

// Closed says what follows, 0 = nothing.
type Closed struct {
	FollowUp int64 `json:"follow_up,omitempty"`
}

// Close ends the operation and moves the node to its end state, in one
// transaction; closing what is closed with the same outcome succeeds.
func (a *Operations) Close(ctx context.Context, in EndInput) (Closed, error) {
	info := activity.GetInfo(ctx)
	a.at(ctx, chaos.Closing, in.Operation)
	next, err := a.Ledger.CloseOperation(ctx, node.End{
		Operation: in.Operation, RunID: info.WorkflowExecution.RunID, Outcome: in.Outcome, Error: in.Error,
	}, a.followUp)
	if err != nil {
		return Closed{}, typed(err)
	}
	a.at(ctx, chaos.Closed, in.Operation)
	if a.Ended != nil {
		if o, err := a.Ledger.Operation(ctx, in.Operation); err == nil && o.EndedAt != nil {
			a.Ended(o.Kind, o.Outcome, o.EndedAt.Sub(o.AcceptedAt))
		}
	}
	if next == nil {
		return Closed{}, nil
	}
	return Closed{FollowUp: next.ID}, nil
}

// followUp is the operation that closing opens where somebody asked for the
// node back meanwhile.
func (a *Operations) followUp(n *node.Node) (*node.Operation, error) {
	steps, err := node.Plan(node.KindUndeploy, n, nil, node.PlanOptions{AutomatedClean: a.Policy.AutomatedClean})
	if err != nil {
		return nil, err
	}
	return &node.Operation{Kind: node.KindUndeploy, Target: node.Available, Steps: steps}, nil
}

// StartOperation starts the workflow of an operation that is open. Its row is
// the outbox: where this fails reconciliation starts it.
func (a *Operations) StartOperation(ctx context.Context, operation int64) error {
	o, err := a.Ledger.Operation(ctx, operation)
	if err != nil {
		return typed(err)
	}
	if o.EndedAt != nil || o.BegunAt != nil {
		return nil
	}
	return typed(a.Starter.Start(ctx, o))
}

// typed gives a database activity's error its kind as Temporal's error type, so
// that the retry policy tells final ones from those that pass.
func typed(err error) error {
	if err == nil {
		return nil
	}
	switch fault.KindOf(err) {
	case fault.Lost, fault.NotFound, fault.Invalid, fault.Conflict, fault.NotAllowed:
		return never(err)
	}
	return again(err, 0)
}
