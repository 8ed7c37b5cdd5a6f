package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
	"go.temper.dev/temper/workflows"
)

// Starter starts, signals, updates and ends the workflows of operations. It implements
// api.Operations, activities.WorkflowStarter and reconcile.WorkflowController.
type Starter struct {
	Client    client.Client
	Namespace string // the client's
}

// Start starts the operation's workflow. It is no error if it was started before, even if it has
// ended since.
func (s Starter) Start(ctx context.Context, o *node.Operation) error {
	name := cmp.Or(o.NodeName, o.NodeUUID)
	_, err := s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       o.WorkflowID,
		TaskQueue:                workflows.OrchestratorQueue,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		// Without it the SDK attaches to a running workflow without an error.
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            fmt.Sprintf("%s %s", o.Kind, name),
		StaticDetails:                            staticDetails(o),
		TypedSearchAttributes:                    workflows.StartAttributes(o),
		Memo:                                     memo(o),
	}, o.Kind.Spec().Workflow, workflows.Input{Operation: o.ID, Node: o.NodeUUID, NodeName: o.NodeName, Kind: o.Kind})
	if err == nil || temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return nil
	}
	return fault.New(fault.Unavailable, "start workflow %s: %w", o.WorkflowID, err)
}

// memoOperation is the name in the memo of the operation's number, by which a workflow is recognised (owns).
const memoOperation = "operation"

// memo returns what Temporal's list of workflows has of an operation besides search attributes, for scripts. It
// has only what never changes, because each change would cost an event.
func memo(o *node.Operation) map[string]any {
	m := map[string]any{"node": cmp.Or(o.NodeName, o.NodeUUID), "node_uuid": o.NodeUUID, memoOperation: strconv.FormatInt(o.ID, 10), "kind": o.Kind}
	if o.RequestedBy != "" {
		m["requested_by"] = text.Cut(o.RequestedBy)
	}
	if o.RetryOf != 0 {
		m["retry_of"] = strconv.FormatInt(o.RetryOf, 10)
	}
	return m
}

// staticDetails returns the workflow's description in Temporal's UI.
func staticDetails(o *node.Operation) string {
	lines := []string{fmt.Sprintf("%s of node %s, operation %d.", o.Kind, cmp.Or(o.NodeName, o.NodeUUID), o.ID)}
	if o.NodeName != "" {
		lines = append(lines, "The node's uuid is "+o.NodeUUID+".")
	}
	if o.RequestedBy != "" {
		lines = append(lines, "It was requested by "+o.RequestedBy+".")
	}
	return strings.Join(lines, "\n\n")
}

// Cancel cancels the operation's workflow. It is no error if the workflow is gone or was never
// started, because the request is in the row.
func (s Starter) Cancel(ctx context.Context, o *node.Operation, _ string) error {
	run, err := s.run(ctx, o)
	if run == "" || err != nil {
		return err
	}
	err = s.Client.CancelWorkflow(ctx, o.WorkflowID, run)
	if err == nil || notFound(err) {
		return nil
	}
	return fault.New(fault.Unavailable, "cancel workflow %s: %w", o.WorkflowID, err)
}

// Nudge signals the operation's workflow that its row has changed.
func (s Starter) Nudge(ctx context.Context, o *node.Operation) error {
	run, err := s.run(ctx, o)
	if run == "" || err != nil {
		return err
	}
	err = s.Client.SignalWorkflow(ctx, o.WorkflowID, run, workflows.LookSignal, nil)
	if err == nil || notFound(err) {
		return nil
	}
	return fault.New(fault.Unavailable, "signal workflow %s: %w", o.WorkflowID, err)
}

// ReportSteps tells a workflow which of its steps runs. It ignores a workflow that has ended.
func (s Starter) ReportSteps(ctx context.Context, workflowID, runID string, update conductor.StepsUpdate) error {
	err := s.Client.SignalWorkflow(ctx, workflowID, runID, workflows.StepsSignal, update)
	if err == nil || notFound(err) {
		return nil
	}
	return fault.New(fault.Unavailable, "signal workflow %s: %w", workflowID, err)
}

// Decide sends a decision about a held step to the operation's workflow. If the answer is lost, the
// same decision can be sent again: it is the same update. A workflow that is paused in Temporal
// accepts no update, so Decide unpauses it. The error is fault.Lost if the workflow has ended or the
// operation belongs to another run.
func (s Starter) Decide(ctx context.Context, o *node.Operation, a node.Action, by, reason string) error {
	err := s.decide(ctx, o, a, by, reason)
	if failedPrecondition(err) {
		if err := s.Unpause(ctx, o, by, string(a)+" was decided"); err != nil {
			return err
		}
		err = s.decide(ctx, o, a, by, reason)
	}
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &app):
		return fault.New(fault.ParseKind(app.Type()), "%s", app.Message())
	case notFound(err):
		return fault.New(fault.Lost, "the workflow of operation %d has ended", o.ID)
	}
	return fault.New(fault.Unavailable, "the workflow of operation %d did not take the decision: %w", o.ID, err)
}

func (s Starter) decide(ctx context.Context, o *node.Operation, a node.Action, by, reason string) error {
	h, err := s.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		UpdateID:   workflows.DecisionID(len(o.Decisions)+1, a),
		WorkflowID: o.WorkflowID, RunID: o.RunID, UpdateName: workflows.DecideUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{workflows.Decision{Action: a, By: by, Reason: reason}},
	})
	if err == nil {
		err = h.Get(ctx, nil)
	}
	return err
}

// Status returns the status of the operation's run in Temporal.
func (s Starter) Status(ctx context.Context, o *node.Operation) (node.RunStatus, error) {
	return Describer{Client: s.Client}.Status(ctx, o)
}

// run returns the run of the operation's workflow; if the row has none, the open one that Temporal has. It is "" if there is none, or if
// the workflow of that id is not the operation's, which is left alone.
func (s Starter) run(ctx context.Context, o *node.Operation) (string, error) {
	if o.RunID != "" {
		return o.RunID, nil
	}
	st, err := s.Status(ctx, o)
	return st.RunID, err
}

// Terminate ends the operation's workflow at once. It is no error if the workflow is gone.
func (s Starter) Terminate(ctx context.Context, o *node.Operation, reason string) error {
	run, err := s.run(ctx, o)
	if run == "" || err != nil {
		return err
	}
	err = s.Client.TerminateWorkflow(ctx, o.WorkflowID, run, reason)
	if err == nil || notFound(err) {
		return nil
	}
	return fault.New(fault.Unavailable, "terminate workflow %s: %w", o.WorkflowID, err)
}

func notFound(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}
