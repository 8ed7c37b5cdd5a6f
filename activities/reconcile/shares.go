package reconcile

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
	"go.temper.dev/temper/internal/share"
)

// reapLimit is how many nodes one tick undeploys. Each is an operation.
const reapLimit = 100

// shares publishes a new epoch if compute services, settings, nodes or instances have changed
// since the last one. Otherwise it hands over the nodes whose old service has acknowledged.
func (r *Reconciler) shares(ctx context.Context, out *TickResult) error {
	stale, err := r.Shares.SharesStale(ctx)
	if err != nil {
		return err
	}
	var p share.Published
	if stale {
		p, err = r.Shares.PublishShares(ctx, 0, share.Decide)
	} else {
		p, err = r.Shares.HandOverShares(ctx, 0)
	}
	if err != nil {
		return err
	}
	out.Expired += p.Expired
	if p.Moved > 0 || p.Expired > 0 {
		r.Log.Info("a new epoch of shares was written", zap.Int64("epoch", p.Epoch), zap.Int("nodes", p.Moved), zap.Int("expired", p.Expired))
	}
	return nil
}

// instances undeploys the nodes whose instance is gone.
func (r *Reconciler) instances(ctx context.Context, out *TickResult) error {
	if err := r.Instances.SweepInstances(ctx); err != nil {
		return err
	}
	if r.Reaping.Report {
		return nil
	}
	orphans, err := r.Instances.Orphans(ctx, r.Reaping.After, reapLimit)
	if err != nil {
		return err
	}
	for _, o := range orphans {
		reaped, err := r.reap(ctx, o)
		if err != nil {
			return err
		}
		if reaped {
			out.Reaped++
			r.Log.Info("a node is undeployed, because its instance is gone", zap.String("node", o.Node), zap.String("instance", o.Instance))
		}
		activity.RecordHeartbeat(ctx)
	}
	return nil
}

// reap undeploys a node with the operation that a client would request.
func (r *Reconciler) reap(ctx context.Context, o share.Orphan) (bool, error) {
	asked := false
	op, err := r.Instances.Request(ctx, o.Node, func(n *node.Node) (*node.Request, error) {
		if n.InstanceUUID != o.Instance || n.Operation != nil {
			return nil, nil
		}
		req, err := r.undeployRequest(n)
		asked = err == nil && req != nil
		return req, err
	})
	switch {
	case fault.Is(err, fault.NotAllowed), fault.Is(err, fault.Forbidden), fault.Is(err, fault.Conflict), fault.Is(err, fault.Invalid), fault.Is(err, fault.NotFound):
		r.Log.Debug("a node whose instance is gone can not be undeployed now", zap.String("node", o.Node), zap.Error(err))
		return false, nil // it stays reported
	case err != nil:
		return false, err
	}
	if op != nil {
		return true, r.Starter.Start(ctx, op)
	}
	return asked, nil
}

// undeployRequest is the request that undeploys a node whose instance is gone.
func (r *Reconciler) undeployRequest(n *node.Node) (*node.Request, error) {
	event := fmt.Sprintf("given back: instance %s is gone", n.InstanceUUID)
	if n.Undeployed() {
		return &node.Request{User: activities.ByReconciliation, Event: event, Apply: (*node.Node).ClearInstance}, nil
	}
	d, err := admission.Verb(n, node.VerbOf("deleted"), "")
	if err != nil || d.Open == "" {
		return nil, err
	}
	op, err := plan.FollowUp(n, nil, d.Open, activities.ByReconciliation, r.Defaults)
	if err != nil {
		return nil, err
	}
	return &node.Request{Move: d.Move, Open: op, User: activities.ByReconciliation, Event: event, Apply: d.Apply}, nil
}
