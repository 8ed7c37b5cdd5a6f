package conductor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

const (
	// silentAtOnce is how many silent BMCs a conductor asks at a time, beside those that answer. Asking costs little more
	// than the time in which no answer comes.
	silentAtOnce = 64
	silentLook   = 2 * time.Second // between two looks for silent BMCs that have to be asked
	silentLease  = 3 * time.Minute // more than asking takes
	silentPoll   = time.Second     // between the good answers of a BMC that is back
)

// AskSilent asks those silent BMCs of the nodes that this conductor owns for which no operation asks, each when its pause is
// over, until ctx ends. A BMC that is away does not hold up the readings of the others.
func (r *PowerRefresh) AskSilent(ctx context.Context) {
	var g errgroup.Group
	defer func() { _ = g.Wait() }()
	look := time.NewTicker(silentLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if err := r.askSilent(ctx, &g); err != nil && ctx.Err() == nil {
			r.Log.Warn("the silent BMCs could not be asked", zap.Error(err))
		}
	}
}

// askSilent has g ask the silent BMCs whose time has come.
func (r *PowerRefresh) askSilent(ctx context.Context, g *errgroup.Group) error {
	free := silentAtOnce - int(r.asking.Load())
	if free <= 0 {
		return nil
	}
	nodes, err := r.Store.SilentDue(ctx, r.Self.Hostname, slices.Sorted(maps.Keys(r.Self.Interfaces)), silentLease, free)
	if err != nil || len(nodes) == 0 {
		return err
	}
	sealed, err := r.Store.DriverSecrets(ctx, nodes)
	if err != nil {
		return err
	}
	asked := map[string]bool{}
	for _, n := range nodes {
		if asked[n.BMC()] {
			continue
		}
		asked[n.BMC()] = true
		r.asking.Add(1)
		g.Go(func() error {
			defer r.asking.Add(-1)
			err := r.one(ctx, &n, sealed[n.ID])
			if err == nil {
				err = r.writeAgain(ctx)
			}
			if err != nil && ctx.Err() == nil {
				r.Log.Warn("what a silent BMC has answered could not be recorded", zap.String("node", n.UUID), zap.Error(err))
			}
			return nil
		})
	}
	return nil
}

// steadily reads the power state. What a BMC says that was silent is believed when it has given goodAnswers in a row.
func (r *PowerRefresh) steadily(ctx context.Context, n *node.Node, sealed node.Secrets) (node.PowerState, error) {
	state, err := r.read(ctx, n, sealed)
	for good := 1; err == nil && n.SilentBMC() != nil && good < goodAnswers; good++ {
		if err = sleep(ctx, silentPoll); err == nil {
			state, err = r.read(ctx, n, sealed)
		}
	}
	return state, err
}

// silent records that the node's BMC gave no answer. After the time in which refreshFailures readings would have failed, the
// power state counts as unreadable: then silent returns why, before that "".
func (r *PowerRefresh) silent(ctx context.Context, n *node.Node, err error, took time.Duration) string {
	since := time.Now().Add(-took)
	if s := n.SilentBMC(); s != nil {
		since = s.Since
	}
	pause := node.SilentPause(time.Since(since), took)
	s := node.BMCSilence{BMC: n.BMC(), Since: since, AskedBy: r.Self.Hostname, Seen: fault.Text(err)}
	if err := r.Store.BMCSilent(ctx, n.ID, s, pause); err != nil {
		r.Log.Warn("that a BMC gives no answer could not be recorded", zap.String("node", n.UUID), zap.Error(err))
	}
	r.Log.Debug("the BMC gives no answer", zap.String("node", n.UUID), zap.Time("since", since), zap.Duration("asked again after", pause), zap.Error(err))
	if n.Fault == node.FaultPower || time.Since(since) < (refreshFailures-1)*r.Interval {
		return ""
	}
	return fmt.Sprintf("%s since %s: %v", node.PowerUnread, text.Moment(since), err)
}
