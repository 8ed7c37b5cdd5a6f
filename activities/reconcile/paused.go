package reconcile

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// recordPause records whether an open operation is paused in Temporal. If somebody has asked
// something of a paused operation that it can't do while paused, recordPause unpauses it. If
// an operation is no longer paused, recordPause nudges its workflow.
func (r *Reconciler) recordPause(ctx context.Context, o *node.Operation, p *node.Pause, out *TickResult) error {
	switch {
	case p == nil && o.TemporalPause == nil:
		return nil
	case p == nil:
		return r.recordUnpause(ctx, o, out)
	}
	out.Paused++
	known, now := *o, time.Now()
	if known.PauseInTemporal(*p, now) {
		ctx, record := audit.Begin(ctx, audit.InTemporal("pause", p.Reason))
		_, err := r.Operations.Direct(ctx, o.ID, func(n *node.Node) (node.OperationChange, error) {
			began := n.Operation.TemporalPause == nil
			if n.Operation.RunID != o.RunID || !n.Operation.PauseInTemporal(*p, now) {
				return node.OperationChange{Leave: true}, nil
			}
			if !began {
				record.Leave()
				return node.OperationChange{}, nil
			}
			return node.OperationChange{Event: node.HistoryEvent{Event: string(o.Kind) + " is " + n.Operation.TemporalPause.Words(), EventType: "steering", User: p.By}}, nil
		})
		if err != nil && !fault.Is(err, fault.Lost) {
			return err
		}
	}
	if !node.Unpauses(o.Asked) {
		return nil
	}
	r.Log.Info("an operation was unpaused in Temporal, because somebody has requested something of it", zap.Int64("operation", o.ID), zap.String("node", o.NodeUUID), zap.String("asked", string(o.Asked)))
	return r.Controller.Unpause(ctx, o, o.AskedBy, string(o.Asked)+" was asked for")
}

// recordUnpause records that an operation is no longer paused, and nudges its workflow, which
// otherwise might wait for a timer.
func (r *Reconciler) recordUnpause(ctx context.Context, o *node.Operation, out *TickResult) error {
	if !node.Unpauses(o.Asked) { // recordPause has not unpaused it
		ctx, _ = audit.Begin(ctx, audit.InTemporal("unpause", ""))
	}
	_, err := r.Operations.Direct(ctx, o.ID, func(n *node.Node) (node.OperationChange, error) {
		if n.Operation.RunID != o.RunID || n.Operation.TemporalPause == nil {
			return node.OperationChange{Leave: true}, nil
		}
		return activities.Resume(n), nil
	})
	if err != nil && !fault.Is(err, fault.Lost) {
		return err
	}
	if !o.WorkflowWaits() {
		return nil
	}
	return r.nudge(ctx, o, out)
}
