package activities_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

// wards is a fleet whose BMCs tell the health that a test sets, with its records.
type wards struct {
	*racks
	mu      sync.Mutex
	before  map[int64]node.Health
	told    map[string]bmc.Health // by node; absent = no answer
	without bool                  // the driver reads no health
	slow    string                // node whose BMC answers when the channel is closed
	answers chan struct{}
	pageErr error               // of the second page; answers is closed before
	writes  [][]node.HealthSeen // by statement
}

func (w *wards) HealthDue(ctx context.Context, hostname string, drivers []string, after int64, limit int) ([]node.HealthDue, error) {
	if w.pageErr != nil && after > 0 {
		close(w.answers)
		return nil, w.pageErr
	}
	nodes, err := w.PowerDue(ctx, hostname, drivers, after, limit)
	out := make([]node.HealthDue, len(nodes))
	for i, n := range nodes {
		out[i] = node.HealthDue{Node: n, Before: w.before[n.ID]}
	}
	return out, err
}

func (w *wards) RecordHealth(_ context.Context, seen []node.HealthSeen) error {
	w.writes = append(w.writes, seen)
	return nil
}

type healthDriver struct {
	bmc.Driver
	*wards
}

func (d healthDriver) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	s, err := d.wards.Open(ctx, t)
	if err == nil && !d.without {
		s.HealthReader = ward{d.wards, t.Node}
	}
	return s, err
}

type ward struct {
	*wards
	node string
}

func (w ward) Health(context.Context) (bmc.Health, error) {
	if w.node == w.slow {
		<-w.answers
	}
	w.wards.mu.Lock()
	defer w.wards.mu.Unlock()
	h, ok := w.told[w.node]
	if !ok {
		return bmc.Health{}, errors.New("no answer")
	}
	return h, nil
}

func wardsOf(count int) *wards {
	w := &wards{racks: rackOf(count), before: map[int64]node.Health{}, told: map[string]bmc.Health{}}
	for _, n := range w.nodes {
		w.told[n.UUID] = bmc.Health{Status: node.HealthOK}
	}
	return w
}

func (w *wards) refreshHealth() *conductor.HealthRefresh {
	return &conductor.HealthRefresh{
		Store: w, Drivers: map[string]bmc.Driver{"redfish": healthDriver{wards: w}}, Interval: 5 * time.Minute, Log: zap.NewNop(),
		Self: coverage.Conductor{Hostname: "c1", Interfaces: map[string]map[string][]string{"redfish": nil}},
	}
}

func TestTheHealthOfAFleetIsWrittenWithOneStatementAPage(t *testing.T) {
	t.Parallel()
	w := wardsOf(1200)
	r := w.refreshHealth()
	require.NoError(t, r.All(t.Context()))
	require.Len(t, w.writes, 3)
	require.Len(t, r.Read(), 1200)
	count := 0
	for _, page := range w.writes {
		for _, h := range page {
			count++
			require.Equal(t, node.HealthOK, h.Status)
			w.before[h.ID] = h.Health
		}
	}
	require.Equal(t, 1200, count)

	w.writes = nil
	require.NoError(t, r.All(t.Context()))
	require.Len(t, w.writes, 3, "when it was read has changed")

	w.nodes = w.nodes[:2]
	require.NoError(t, r.All(t.Context()))
	require.Len(t, r.Read(), 2, "what belongs to other conductors is forgotten")
}

// What was read while the database failed is written by the next refresh, which reads the same nodes again.
func TestAHealthThatCouldNotBeWrittenIsWrittenOnce(t *testing.T) {
	t.Parallel()
	w := wardsOf(500)
	w.slow, w.answers, w.pageErr = w.nodes[499].UUID, make(chan struct{}), errors.New("the database is away")
	r := w.refreshHealth()
	require.ErrorIs(t, r.All(t.Context()), w.pageErr)
	w.pageErr, w.writes = nil, nil
	require.NoError(t, r.All(t.Context()))
	for _, statement := range w.writes {
		written := map[int64]bool{}
		for _, h := range statement {
			require.False(t, written[h.ID], "PostgreSQL writes no row twice in one statement")
			written[h.ID] = true
		}
	}
}

func TestWhatABMCTellsOfItsHealthIsWritten(t *testing.T) {
	t.Parallel()
	now, long := time.Now(), time.Now().Add(-time.Hour)
	fan := node.HealthReason{Kind: node.ComponentFan, Name: "Fan 1", Severity: node.HealthCritical, Message: "dead"}
	critical := bmc.Health{Status: node.HealthCritical, Reasons: []node.HealthReason{fan}}
	well := node.Health{Status: node.HealthOK, Since: &now, ReadAt: &now}
	for name, c := range map[string]struct {
		before node.Health
		told   *bmc.Health // nil = no answer
		writes bool
	}{
		"never read":         {node.Health{Status: node.HealthUnknown}, &bmc.Health{Status: node.HealthOK}, true},
		"the same":           {well, &bmc.Health{Status: node.HealthOK}, true},
		"the same, long ago": {node.Health{Status: node.HealthOK, Since: &long, ReadAt: &long}, &bmc.Health{Status: node.HealthOK}, true},
		"worse":              {well, &critical, true},
		"another part":       {node.Health{Status: node.HealthCritical, Since: &now, ReadAt: &now, Reasons: []node.HealthReason{{Kind: node.ComponentStorage, Severity: node.HealthCritical}}}, &critical, true},
		"no answer":          {well, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := wardsOf(1)
			w.before[1] = c.before
			delete(w.told, w.nodes[0].UUID)
			if c.told != nil {
				w.told[w.nodes[0].UUID] = *c.told
			}
			require.NoError(t, w.refreshHealth().All(t.Context()))
			require.Equal(t, c.writes, len(w.writes) == 1)
		})
	}
}

func TestASilentBMCThatTellsItsHealthIsBack(t *testing.T) {
	t.Parallel()
	w := wardsOf(2)
	delete(w.told, w.nodes[1].UUID)
	for i := range w.nodes {
		n := &w.nodes[i]
		n.Silence = &node.BMCSilence{BMC: n.BMC()}
	}
	answered := map[int64]bool{}
	r := w.refreshHealth()
	r.Store = backStore{w, answered}
	require.NoError(t, r.All(t.Context()))
	require.Equal(t, map[int64]bool{w.nodes[0].ID: true}, answered)
}

// backStore notes whose BMC is back.
type backStore struct {
	*wards
	answered map[int64]bool
}

func (s backStore) BMCAnswered(_ context.Context, id int64, _ string) error {
	s.wards.mu.Lock()
	defer s.wards.mu.Unlock()
	s.answered[id] = true
	return nil
}

func TestADriverThatReadsNoHealthIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := wardsOf(2)
	w.without = true
	r := w.refreshHealth()
	require.NoError(t, r.All(t.Context()))
	require.Empty(t, w.writes)
	require.Empty(t, r.Read())
}
