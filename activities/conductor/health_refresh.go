package conductor

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

// Limits of a refresh of health. The driver limits how many requests go to one BMC at a time.
const (
	healthAtOnce = 64              // 10,000 BMCs with 12 requests of 200 ms each take 6 min
	healthTime   = 2 * time.Minute // one BMC
)

// HealthStore is what a refresh of health reads and writes.
type HealthStore interface {
	HealthDue(ctx context.Context, hostname string, drivers []string, after int64, limit int) ([]node.HealthDue, error)
	SecretStore
	RecordHealth(ctx context.Context, seen []node.HealthSeen) error
	// BMCAnswered is that of SilenceStore.
	BMCAnswered(ctx context.Context, id int64, bmc string) error
}

// HealthRefresh reads the health of the nodes that a conductor owns. It is not an activity: a loop of the conductor runs it
// beside the steps. It reserves no node, and skips nodes that an operation has reserved.
type HealthRefresh struct {
	Store    HealthStore
	Drivers  map[string]bmc.Driver
	Self     coverage.Conductor // Hostname, Group, Interfaces
	Interval time.Duration      // between two refreshes
	Reach    *Reach             // which BMCs answer this conductor; nil = that is not recorded
	Log      *zap.Logger

	mu        sync.Mutex
	last      map[int64]ReadHealth      // by node
	unwritten map[int64]node.HealthSeen // what is still to be written, by node: one statement can't write a node twice
}

// ReadHealth is the health of a node as this conductor read it last.
type ReadHealth struct {
	UUID string
	bmc.Health
}

// Read returns the health of the nodes that this conductor has read in its last refresh.
func (r *HealthRefresh) Read() []ReadHealth {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.last))
}

// All reads the health of each node that this conductor owns, once. It writes what it has read with one statement a page. It
// returns an error if the database fails, but not if a BMC does not answer.
func (r *HealthRefresh) All(ctx context.Context) error {
	seen, err := refresh[node.HealthDue]{
		self: r.Self, secrets: r.Store, atOnce: healthAtOnce, due: r.Store.HealthDue,
		of: func(d *node.HealthDue) *node.Node { return &d.Node },
		read: func(ctx context.Context, due *node.HealthDue, sealed node.Secrets) error {
			r.one(ctx, due, sealed)
			return nil
		},
		afterPage: r.write,
	}.all(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.last, func(id int64, _ ReadHealth) bool { return !seen[id] })
	return nil
}

func (r *HealthRefresh) write(ctx context.Context) error {
	r.mu.Lock()
	news := r.unwritten
	r.unwritten = nil
	r.mu.Unlock()
	if len(news) == 0 {
		return nil
	}
	return r.Store.RecordHealth(ctx, slices.Collect(maps.Values(news)))
}

// one reads the health of a node, and adds it to unwritten, also if nothing has changed: people are told when it was read. If the
// BMC does not answer, nothing is written: PowerRefresh records silent BMCs.
func (r *HealthRefresh) one(ctx context.Context, due *node.HealthDue, sealed node.Secrets) {
	read, ok, err := r.read(ctx, &due.Node, sealed)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.forget(due.ID)
		r.Log.Warn("the health could not be read", zap.String("node", due.UUID), zap.Error(err))
		return
	}
	if !ok {
		return
	}
	r.keep(due.ID, ReadHealth{UUID: due.UUID, Health: read})
	r.answered(ctx, &due.Node)
	now := time.Now().UTC()
	next, changed := due.Before.Then(read.Status, read.Reasons, now)
	if changed {
		r.Log.Info("the health has changed", zap.String("node", due.UUID), zap.String("was", string(due.Before.Status)), zap.String("is", string(read.Status)), zap.Int("reasons", len(next.Reasons)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unwritten == nil {
		r.unwritten = map[int64]node.HealthSeen{}
	}
	r.unwritten[due.ID] = node.HealthSeen{ID: due.ID, Health: next}
}

// answered records that a BMC that was silent has told the health of the node.
func (r *HealthRefresh) answered(ctx context.Context, n *node.Node) {
	if n.Silence == nil {
		return
	}
	if err := r.Store.BMCAnswered(ctx, n.ID, n.BMC()); err != nil {
		r.Log.Warn("that the BMC answers again could not be recorded", zap.String("node", n.UUID), zap.Error(err))
	}
}

// read asks the BMC; ok is false if the driver reads no health.
func (r *HealthRefresh) read(ctx context.Context, n *node.Node, sealed node.Secrets) (h bmc.Health, ok bool, err error) {
	s, err := openUnreserved(ctx, r.Drivers, n, sealed)
	if err != nil {
		return h, false, err
	}
	defer s.Close()
	if s.HealthReader == nil {
		return h, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	h, err = s.Health(ctx)
	r.Reach.heard(n.UUID, err)
	return h, err == nil, err
}

func (r *HealthRefresh) keep(id int64, h ReadHealth) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[int64]ReadHealth{}
	}
	r.last[id] = h
}

func (r *HealthRefresh) forget(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, id)
}
