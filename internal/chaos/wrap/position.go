// Package wrap puts the points of package chaos around the parts of Temper's roles. Its wrappers of stores, drivers and
// clients implement the same interfaces, and stop before or after a call. The wrapped code knows nothing of it.
package wrap

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
)

// position is where an attempt of an activity is in its operation, as far as the wrappers have seen it read and write.
// It is in the attempt's context, so that the wrappers of drivers and agents know the step for which they are called.
type position struct {
	isUndo    bool // the activity is Undo and runs no step
	operation int64
	node      string    // uuid; "" = the attempt has claimed no operation yet
	step      node.Step // the current step; the zero Step = all have ended
}

type positionKey struct{}

// positionIn returns the position of the attempt that ctx belongs to, nil outside of activities.
func positionIn(ctx context.Context) *position {
	p, _ := ctx.Value(positionKey{}).(*position)
	return p
}

// stop stops at a point of the operation. request is the Request of the Point.
func (p *position) stop(ctx context.Context, point, request string) {
	if p == nil || p.node == "" {
		return
	}
	at := chaos.Point{Name: point, Operation: p.operation, Node: p.node, Request: request}
	switch {
	case p.isUndo:
		at.Step = chaos.Undo
	case p.step.Step != "":
		at.Step = p.step.Name()
	}
	chaos.At(ctx, at)
}

// currentOf returns the first step that has not ended, the zero Step if all have.
func currentOf(steps []node.Step) node.Step {
	o := node.Operation{Steps: steps}
	if s := o.CurrentStep(); s != nil {
		return *s
	}
	return node.Step{}
}

// Interceptor returns an interceptor for clients of Temporal. It gives activities of the client's workers a position, and
// workflows that the client starts the run timeout that a test sets.
func Interceptor() interceptor.ClientInterceptor { return &temporal{} }

type temporal struct{ interceptor.InterceptorBase }

// InterceptActivity implements interceptor.WorkerInterceptor.
func (t *temporal) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &attempt{}
	i.Next = next
	return i
}

// InterceptClient implements interceptor.ClientInterceptor.
func (t *temporal) InterceptClient(next interceptor.ClientOutboundInterceptor) interceptor.ClientOutboundInterceptor {
	i := &starts{}
	i.Next = next
	return i
}

type attempt struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity puts a position into the attempt's context.
func (a *attempt) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	p := &position{isUndo: isActivity(ctx, "Undo")}
	return a.Next.ExecuteActivity(context.WithValue(ctx, positionKey{}, p), in)
}

type starts struct {
	interceptor.ClientOutboundInterceptorBase
}

// ExecuteWorkflow sets the run timeout.
func (s *starts) ExecuteWorkflow(ctx context.Context, in *interceptor.ClientExecuteWorkflowInput) (client.WorkflowRun, error) {
	if limit := chaos.RunTimeout(); limit > 0 {
		in.Options.WorkflowRunTimeout = limit
	}
	return s.Next.ExecuteWorkflow(ctx, in)
}

// isActivity reports whether ctx belongs to an activity of that name.
func isActivity(ctx context.Context, name string) bool {
	return activity.IsActivity(ctx) && activity.GetInfo(ctx).ActivityType.Name == name
}
