package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// startWithin is how long Temporal may take to accept a workflow for which a client waits.
const startWithin = 5 * time.Second

// Read has a conductor read something from n's BMC, of several the one with that id, and waits for that until ctx ends. ctx needs
// a deadline. Errors have the kind of the conductor's error; fault.Unreachable if no conductor or BMC answered in time, and fault.Unavailable if
// Temporal did not.
func (s Starter) Read(ctx context.Context, n *node.Node, what node.Reading, id string) (out node.BMCReading, err error) {
	until, limited := ctx.Deadline()
	if !limited {
		return out, fault.New(fault.Internal, "read the %s of node %s: no deadline", what, n.UUID)
	}
	within := max(time.Until(until), time.Millisecond)
	start, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	run, err := s.Client.ExecuteWorkflow(start, client.StartWorkflowOptions{
		ID:                       fmt.Sprintf("node/%s/read/%s", n.UUID, uuid.NewString()),
		TaskQueue:                workflows.OrchestratorQueue,
		WorkflowExecutionTimeout: within,
		StaticSummary:            fmt.Sprintf("read the %s of %s", what, cmp.Or(n.Name, n.UUID)),
		TypedSearchAttributes:    workflows.ReadAttributes(n),
	}, workflows.ReadType, workflows.ReadInput{
		ReadInput: conductor.ReadInput{Node: n.UUID, What: what, ID: id}, Group: n.ConductorGroup, Driver: n.Driver, Within: within,
	})
	if err != nil {
		return out, fault.Coded(fault.TemporalUnavailable, "read the %s of node %s: %w", what, n.UUID, err)
	}
	err = run.Get(ctx, &out)
	var app *temporal.ApplicationError
	var late *temporal.TimeoutError
	switch {
	case err == nil:
		return out, nil
	case errors.As(err, &app):
		return out, fault.CodedAs(fault.ParseKind(app.Type()), activities.CauseOf(err), "%s", app.Message())
	case timeIsUp(ctx, err), errors.As(err, &late):
		return out, fault.New(fault.Unreachable, "the %s of node %s could not be read within %s: no conductor and no BMC answered", what, n.UUID, within.Round(time.Second))
	}
	return out, fault.Coded(fault.TemporalUnavailable, "read the %s of node %s: %w", what, n.UUID, err)
}

// Await returns when the workflow of o has ended, however it ended, or with the error of ctx or of Temporal.
func (s Starter) Await(ctx context.Context, o *node.Operation) error {
	err := s.Client.GetWorkflow(ctx, o.WorkflowID, "").Get(ctx, nil)
	var ended *temporal.WorkflowExecutionError
	switch {
	case err == nil, errors.As(err, &ended):
		return nil
	case timeIsUp(ctx, err):
		return cmp.Or(ctx.Err(), context.DeadlineExceeded)
	}
	return fault.Coded(fault.TemporalUnavailable, "wait for the workflow of operation %d: %w", o.ID, err)
}

// timeIsUp reports whether a wait has ended with err because ctx has. The client may return a moment before ctx has ended.
func timeIsUp(ctx context.Context, err error) bool {
	var exceeded *serviceerror.DeadlineExceeded
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &exceeded)
}
