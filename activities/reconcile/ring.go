package reconcile

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
)

// epochTries is how often an epoch is computed if another orchestrator writes one meanwhile.
const epochTries = 3

// epoch computes which conductor owns which nodes in the rings whose conductors or nodes have
// changed, and writes that as the next epoch.
func (r *Reconciler) epoch(ctx context.Context, out *TickResult) error {
	for try := 1; ; try++ {
		err := r.nextEpoch(ctx, out)
		if !fault.Is(err, fault.Conflict) || try == epochTries {
			return err
		}
		r.Log.Info("the ring is computed again, because another epoch was written meanwhile", zap.Error(err))
	}
}

func (r *Reconciler) nextEpoch(ctx context.Context, out *TickResult) error {
	f, err := r.Ring.Fleet(ctx)
	if err != nil {
		return err
	}
	out.Epoch = f.Epoch
	next := coverage.Epoch{Read: f.Epoch, Changes: f.Changes}
	for _, c := range f.Members {
		next.Members = append(next.Members, c.ID)
	}
	slices.Sort(next.Members)
	moved := 0
	for _, ring := range coverage.Rings(f) {
		if !ring.Stale {
			continue
		}
		moves, err := r.nextRing(ctx, &ring, &next)
		if err != nil {
			return err
		}
		moved += moves
		activity.RecordHeartbeat(ctx)
	}
	if len(next.Rings) == 0 && len(next.Changes) == 0 && slices.Equal(next.Members, f.Before) {
		return nil
	}
	if unchanged(f, &next) {
		return nil
	}
	epoch, err := r.Ring.WriteEpoch(ctx, next)
	if err != nil {
		return err
	}
	out.Epoch, out.Moved = epoch, moved
	r.logMembership(f, epoch, moved)
	return nil
}

// unchanged reports whether the next epoch would be the same as the last one. Unsettled rings
// are computed at each tick, and mostly do not change.
func unchanged(f *coverage.Fleet, next *coverage.Epoch) bool {
	if len(next.Nodes) > 0 || len(next.Changes) > 0 || !slices.Equal(next.Members, f.Before) {
		return false
	}
	for _, r := range next.Rings {
		if !slices.Contains(f.Rings, r) {
			return false
		}
	}
	return true
}

func (r *Reconciler) nextRing(ctx context.Context, ring *coverage.Ring, next *coverage.Epoch) (moved int, err error) {
	var needs []int64
	for _, p := range ring.Requirements {
		needs = append(needs, p.ID)
	}
	nodes, err := r.Ring.RingNodes(ctx, needs)
	if err != nil {
		return 0, err
	}
	moves, unsettled := ring.Next(nodes)
	for _, m := range moves {
		next.Nodes, next.Owners = append(next.Nodes, m.Node.ID), append(next.Owners, m.To)
	}
	next.Rings = append(next.Rings, coverage.RingState{Group: ring.Group, Driver: ring.Driver, Covers: ring.Covers, Unsettled: unsettled})
	return len(moves), nil
}

func (r *Reconciler) logMembership(f *coverage.Fleet, epoch int64, moved int) {
	now := map[int64]bool{}
	for _, c := range f.Members {
		now[c.ID] = true
	}
	for _, c := range f.Conductors {
		before := slices.Contains(f.Before, c.ID)
		switch {
		case before && !now[c.ID]:
			r.Log.Warn("a conductor left the ring", zap.String("conductor", c.Hostname), zap.String("why", whyLeft(c)), zap.Int64("epoch", epoch))
		case !before && now[c.ID]:
			r.Log.Info("a conductor joined the ring", zap.String("conductor", c.Hostname), zap.Int64("epoch", epoch))
		}
	}
	r.Log.Info("a new epoch of the ring was written", zap.Int64("epoch", epoch), zap.Int("conductors", len(f.Members)), zap.Int("moved", moved))
}

func whyLeft(c coverage.Conductor) string {
	switch s := c.State(); {
	case s == coverage.StateStopped, s == coverage.StateDraining:
		return s
	case c.PolledAt.Before(c.HeartbeatAt):
		return fmt.Sprintf("dead: last heartbeat at %s, last contact with Temporal at %s", c.HeartbeatAt, c.PolledAt)
	}
	return fmt.Sprintf("dead: last heartbeat at %s", c.HeartbeatAt)
}
