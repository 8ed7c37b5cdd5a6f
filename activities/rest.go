package activities

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// resumed records that the operation is no longer paused in Temporal: its workflow
// has called, so it runs.
func (a *Operations) resumed(ctx context.Context, o *node.Operation) (*node.Operation, error) {
	if o.TemporalPause == nil {
		return o, nil
	}
	return a.Ledger.Direct(ctx, o.ID, func(n *node.Node) (node.Direction, error) {
		if n.Operation.RunID != o.RunID {
			return node.Direction{}, another(o.ID)
		}
		return goesOnAgain(n), nil
	})
}

func goesOnAgain(n *node.Node) node.Direction {
	n.Operation.Resume(time.Now())
	return node.Direction{Event: node.HistoryEvent{
		Event: string(n.Operation.Kind) + " goes on: it is no longer paused in Temporal", EventType: "steering", User: byReconciliation,
	}}
}

// rests records whether an open operation is paused in Temporal. If somebody has asked
// something of a paused operation that it can't do while paused, rests unpauses it. If
// an operation is no longer paused, rests nudges its workflow.
func (r *Reconcile) rests(ctx context.Context, o *node.Operation, p *node.Pause, out *TickResult) error {
	switch {
	case p == nil && o.TemporalPause == nil:
		return nil
	case p == nil:
		return r.goOn(ctx, o, out)
	}
	out.Paused++
	known, now := *o, time.Now()
	if known.PauseInTemporal(*p, now) {
		_, err := r.Ledger.Direct(ctx, o.ID, func(n *node.Node) (node.Direction, error) {
			began := n.Operation.TemporalPause == nil
			if n.Operation.RunID != o.RunID || !n.Operation.PauseInTemporal(*p, now) {
				return node.Direction{Leave: true}, nil
			}
			if !began {
				return node.Direction{}, nil
			}
			return node.Direction{Event: node.HistoryEvent{Event: string(o.Kind) + " is " + n.Operation.TemporalPause.Words(), EventType: "steering", User: p.By}}, nil
		})
		if err != nil && !fault.Is(err, fault.Lost) {
			return err
		}
	}
	if !node.Unpauses(o.Asked) {
		return nil
	}
	r.Log.Info("operation unpaused, because somebody asked something of it", zap.Int64("operation", o.ID), zap.String("node", o.NodeUUID), zap.String("asked", string(o.Asked)))
	return r.Teller.Unpause(ctx, o, o.AskedBy, string(o.Asked)+" was asked for")
}

// goOn records that an operation is no longer paused, and nudges its workflow, which
// otherwise might wait for a timer.
func (r *Reconcile) goOn(ctx context.Context, o *node.Operation, out *TickResult) error {
	_, err := r.Ledger.Direct(ctx, o.ID, func(n *node.Node) (node.Direction, error) {
		if n.Operation.RunID != o.RunID || n.Operation.TemporalPause == nil {
			return node.Direction{Leave: true}, nil
		}
		return goesOnAgain(n), nil
	})
	if err != nil && !fault.Is(err, fault.Lost) {
		return err
	}
	if !o.Listens() {
		return nil
	}
	return r.nudge(ctx, o, out)
}
