// Package wrap puts the points of package chaos around the parts of Temper's roles: stores, drivers and clients have
// wrappers that implement the same interfaces and stop before or after a call. What is wrapped does not know of it.
package wrap

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
)

// place is where one attempt of an activity is in its operation, as far as it has read and written it. The attempt has
// it in its context, so that the wrappers of drivers and agents know which step they work for.
type place struct {
	undoes    bool // for Undo, not for a step
	operation int64
	node      string    // uuid; "" = it has no operation
	step      node.Step // the current one; the zero Step = all are over
}

type placeKey struct{}

// placeIn is the place of the attempt that ctx belongs to, nil outside of activities.
func placeIn(ctx context.Context) *place {
	p, _ := ctx.Value(placeKey{}).(*place)
	return p
}

// stop stops at a point of the operation; request is what is sent, read or was left.
func (p *place) stop(ctx context.Context, point, request string) {
	if p == nil || p.node == "" {
		return
	}
	at := chaos.Point{Name: point, Operation: p.operation, Node: p.node, Request: request}
	switch {
	case p.undoes:
		at.Step = chaos.Undo
	case p.step.Step != "":
		at.Step = p.step.Name()
	}
	chaos.At(ctx, at)
}

// currentOf is the first of steps that is not over, the zero Step if all are.
func currentOf(steps []node.Step) node.Step {
	o := node.Operation{Steps: steps}
	if s := o.CurrentStep(); s != nil {
		return *s
	}
	return node.Step{}
}

// Interceptor is given to clients of Temporal. Activities of workers with such a client have a place, and a workflow
// that is started through it ends in time where a test says so.
func Interceptor() interceptor.ClientInterceptor { return &temporal{} }

type temporal struct{ interceptor.InterceptorBase }

// InterceptActivity is interceptor.WorkerInterceptor's.
func (t *temporal) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &attempt{}
	i.Next = next
	return i
}

// InterceptClient is interceptor.ClientInterceptor's.
func (t *temporal) InterceptClient(next interceptor.ClientOutboundInterceptor) interceptor.ClientOutboundInterceptor {
	i := &starts{}
	i.Next = next
	return i
}

type attempt struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity gives the attempt a place.
func (a *attempt) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	p := &place{undoes: named(ctx, "Undo")}
	return a.Next.ExecuteActivity(context.WithValue(ctx, placeKey{}, p), in)
}

type starts struct {
	interceptor.ClientOutboundInterceptorBase
}

// ExecuteWorkflow sets how long the workflow may run.
func (s *starts) ExecuteWorkflow(ctx context.Context, in *interceptor.ClientExecuteWorkflowInput) (client.WorkflowRun, error) {
	if limit := chaos.RunTimeout(); limit > 0 {
		in.Options.WorkflowRunTimeout = limit
	}
	return s.Next.ExecuteWorkflow(ctx, in)
}

// named reports whether ctx belongs to an activity of that name.
func named(ctx context.Context, name string) bool {
	return activity.IsActivity(ctx) && activity.GetInfo(ctx).ActivityType.Name == name
}
