package conductor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The bounds of a refresh. How many requests go to one BMC at a time is its driver's.
const (
	// refreshAtOnce is enough to read 10,000 BMCs that answer after 200 ms within 16 s. Ironic's sync_power_state_workers is 8, with
	// which that takes 250 s. Reading one costs little more than the wait for its answer.
	refreshAtOnce   = 128
	refreshFailures = 3 // in a row, until a node gets a fault (Ironic's power_state_sync_max_retries)
)

// PowerStore is what a refresh of power states reads and writes.
type PowerStore interface {
	PowerDue(ctx context.Context, hostname string, drivers []string, after int64, limit int) ([]node.Node, error)
	SecretStore
	RecordPower(ctx context.Context, p node.PowerSeen) (bool, error)
	// Request opens an operation that decide returns, with the node under its row's lock.
	Request(ctx context.Context, ident string, decide func(*node.Node) (*node.Request, error)) (*node.Operation, error)
	// RecordPowerReadAgain writes when states that have not changed were read; each node once.
	RecordPowerReadAgain(ctx context.Context, readings []node.PowerReadAgain) error
	SilenceStore
	// SilentDue returns nodes like PowerDue, of those whose BMC is silent and has to be asked now. Nobody else asks them
	// for within.
	SilentDue(ctx context.Context, hostname string, drivers []string, within time.Duration, limit int) ([]node.Node, error)
}

// PowerRefresh reads the power states of the nodes that a conductor owns. It is no activity:
// a loop of the conductor runs it beside the steps. It reserves no node, and skips nodes
// that an operation has reserved.
type PowerRefresh struct {
	Store    PowerStore
	Drivers  map[string]bmc.Driver
	Self     coverage.Conductor // Hostname, Group, Interfaces
	Interval time.Duration      // between two refreshes
	Request  time.Duration      // one request to a BMC, where its driver does not learn how long that takes
	Restores bool               // whether a server that was switched by somebody else is switched back
	Reach    *Reach             // which BMCs answer this conductor; nil = nobody notes it
	Log      *zap.Logger

	mu     sync.Mutex
	failed map[int64]int                 // by node: readings that failed in a row, other than by silence
	again  map[int64]node.PowerReadAgain // readings that changed nothing and are still to be written, by node

	asking atomic.Int64 // silent BMCs that are being asked
}

// All reads the power state of each node that this conductor owns, once. When states that have not changed were read, it writes with one
// statement a page. It returns an error if the database fails, but not if a BMC does not answer.
func (r *PowerRefresh) All(ctx context.Context) error {
	seen, err := refresh[node.Node]{
		self: r.Self, secrets: r.Store, atOnce: refreshAtOnce, due: r.Store.PowerDue,
		of: func(n *node.Node) *node.Node { return n }, read: r.one,
		afterPage: r.writeAgain,
	}.all(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.failed, func(id int64, _ int) bool { return !seen[id] })
	return nil
}

// writeAgain writes the readings that changed nothing.
func (r *PowerRefresh) writeAgain(ctx context.Context) error {
	r.mu.Lock()
	again := r.again
	r.again = nil
	r.mu.Unlock()
	if len(again) == 0 {
		return nil
	}
	return r.Store.RecordPowerReadAgain(ctx, slices.Collect(maps.Values(again)))
}

// one reads the power state of a node. It writes the state if it is new, and else adds the reading to r.again. Meanwhile the node may
// get another owner or an operation, so the write has an effect only if the reading that it replaces is still the latest.
func (r *PowerRefresh) one(ctx context.Context, n *node.Node, sealed node.Secrets) error {
	began := time.Now()
	state, err := r.steadily(ctx, n, sealed)
	if ctx.Err() != nil {
		return nil
	}
	seen := node.PowerSeen{UUID: n.UUID, ReadAt: n.PowerReadAt}
	if err == nil {
		r.answered(n.ID)
		seen.State = state
	} else {
		seen.Failure = r.failure(ctx, n, err, time.Since(began))
	}
	if n.Silence != nil && !isSilence(err) {
		if err := r.Store.BMCAnswered(ctx, n.ID, n.BMC()); err != nil {
			return err
		}
	}
	switch {
	case seen.State == "" && seen.Failure == "":
		return nil
	case err == nil && known(n, state):
		r.readAgain(n.ID, state)
		return nil
	case err == nil:
		if restored, err := r.restore(ctx, n, state); restored || err != nil {
			return ignoreEnd(ctx, err)
		}
	}
	wrote, err := r.Store.RecordPower(ctx, seen)
	if err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if wrote && (seen.Failure != "" || state != n.PowerState) {
		r.Log.Info("the power state has changed", zap.String("node", n.UUID), zap.String("was", string(n.PowerState)), zap.String("is", string(state)), zap.String("failure", seen.Failure))
	}
	return nil
}

// ignoreEnd returns err, unless the refresh has ended.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// known reports whether the state is recorded, and the reading ends no fault.
func known(n *node.Node, state node.PowerState) bool {
	return state == n.PowerState && n.Fault != node.FaultPower && n.PowerReadAt != nil
}

// readAgain notes that the node's state was read just now and has not changed.
func (r *PowerRefresh) readAgain(id int64, state node.PowerState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again == nil {
		r.again = map[int64]node.PowerReadAgain{}
	}
	r.again[id] = node.PowerReadAgain{ID: id, State: state, At: time.Now()}
}

// failure returns why the power state of the node counts as one that can't be read, "" if it does not yet. took is how long
// the reading has taken that failed with err.
func (r *PowerRefresh) failure(ctx context.Context, n *node.Node, err error, took time.Duration) string {
	if isSilence(err) && !r.Reach.cutOff(n.UUID) {
		return r.silent(ctx, n, err, took)
	}
	failures := r.failedAgain(n.ID)
	r.Log.Warn("the power state could not be read", zap.String("node", n.UUID), zap.Int("failures", failures), zap.Error(err))
	if failures < refreshFailures || n.Fault == node.FaultPower {
		return ""
	}
	return fmt.Sprintf("%s %d times in a row: %v", node.PowerUnread, failures, err)
}

// answered forgets the node's failures.
func (r *PowerRefresh) answered(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failed, id)
}

// failedAgain counts a failed reading, and returns how many have failed in a row.
func (r *PowerRefresh) failedAgain(id int64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = map[int64]int{}
	}
	r.failed[id]++
	return r.failed[id]
}

func (r *PowerRefresh) read(ctx context.Context, n *node.Node, sealed node.Secrets) (node.PowerState, error) {
	s, err := openUnreserved(ctx, r.Drivers, n, sealed)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if s.PowerControl == nil {
		return "", n.Unsupported("power")
	}
	within := r.Request
	if s.AnswerWithin != nil {
		within = s.AnswerWithin()
	}
	ctx, cancel := context.WithTimeout(ctx, 2*within) // one may be a login
	defer cancel()
	p, err := s.Power(ctx)
	r.Reach.heard(n.UUID, err)
	return stateOf(p), err
}
