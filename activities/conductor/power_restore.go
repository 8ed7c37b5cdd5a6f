package conductor

import (
	"context"

	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// restore opens an operation that gives a server the power state back that is recorded, after another one was read (Ironic's
// force_power_state_during_sync). Reconciliation starts it. restore reports false if the state that was read is to be recorded: where nothing
// was recorded before, or where the server may not be switched. An operation that fails records what it reads, so that it is not tried
// without end.
func (r *PowerRefresh) restore(ctx context.Context, n *node.Node, state node.PowerState) (bool, error) {
	target := n.PowerState
	if !r.Restores || n.PowerReadAt == nil || n.Fault == node.FaultPower || target == state || node.PowerAfter(target) != target {
		return false, nil
	}
	stale := false
	o, err := r.Store.Request(ctx, n.UUID, func(now *node.Node) (*node.Request, error) {
		if stale = now.Operation != nil || now.Maintenance || now.PowerState != target || !sameTime(now.PowerReadAt, n.PowerReadAt); stale {
			return nil, nil
		}
		d, err := admission.Power(now, target, "")
		if err != nil {
			return nil, err
		}
		steps, err := plan.Steps(d.Open, now, nil, plan.Options{Power: target})
		if err != nil {
			return nil, err
		}
		return &node.Request{
			Move: d.Move, Apply: d.Apply, User: activities.ByReconciliation,
			Open: &node.Operation{Kind: d.Open, Steps: steps, RequestedBy: activities.ByReconciliation, PowerTarget: target},
		}, nil
	})
	switch {
	case fault.Is(err, fault.Invalid), fault.Is(err, fault.NotAllowed):
		return false, nil
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Conflict):
		return true, nil
	case err != nil:
		return false, err
	case !stale:
		r.Log.Warn("the power state has changed, and is changed back", zap.String("node", n.UUID), zap.String("was", string(target)),
			zap.String("is", string(state)), zap.Int64("operation", o.ID))
	}
	return true, nil
}
