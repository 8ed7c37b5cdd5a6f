package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// next computes the epoch that follows the newest one.
func next(t testing.TB, s *store.Store) coverage.Epoch {
	t.Helper()
	f, err := s.Fleet(t.Context())
	require.NoError(t, err)
	e := coverage.Epoch{Read: f.Epoch, Changes: f.Changes}
	for _, c := range f.Members {
		e.Members = append(e.Members, c.ID)
	}
	for _, r := range coverage.Rings(f) {
		if !r.Stale {
			continue
		}
		var needs []int64
		for _, p := range r.Requirements {
			needs = append(needs, p.ID)
		}
		nodes, err := s.RingNodes(t.Context(), needs)
		require.NoError(t, err)
		moves, unsettled := r.Next(nodes)
		for _, m := range moves {
			e.Nodes, e.Owners = append(e.Nodes, m.Node.ID), append(e.Owners, m.To)
		}
		e.Rings = append(e.Rings, coverage.RingState{Group: r.Group, Driver: r.Driver, Covers: r.Covers, Unsettled: unsettled})
	}
	return e
}

func epoch(t testing.TB, s *store.Store) coverage.Epoch {
	t.Helper()
	e := next(t, s)
	_, err := s.WriteEpoch(t.Context(), e)
	require.NoError(t, err)
	return e
}

// owners returns the number of nodes of each conductor.
func (c *clocked) owners() map[string]int {
	c.t.Helper()
	nodes, err := c.s.Nodes(c.t.Context(), node.Filter{}, node.Page{})
	require.NoError(c.t, err)
	out := map[string]int{}
	for _, n := range nodes {
		out[n.RingOwner]++
	}
	return out
}

func TestAnEpochIsWrittenOnceAndOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	c := clock(t)
	for range 12 {
		create(t, c.s, node.Available)
	}
	c.register("a", "b")
	e := epoch(t, c.s)
	require.Empty(t, c.owners()["a"], "nobody has the power interface")
	require.Empty(t, e.Nodes)
	c.covering("a", "b", "c")
	e = epoch(t, c.s)
	require.Len(t, e.Nodes, 12)
	require.Equal(t, map[string]int{"a": 4, "b": 4, "c": 4}, c.owners())

	e = next(t, c.s)
	require.Empty(t, e.Rings, "nothing has changed, so no node is looked at")
	require.Empty(t, e.Changes)

	require.NoError(t, c.s.StopConductor(t.Context(), "b", c.inc["b"]))
	e = epoch(t, c.s)
	require.Len(t, e.Nodes, 4, "only those of the lost one are written")
	require.Equal(t, map[string]int{"a": 6, "c": 6}, c.owners())
}

// covering registers conductors that cover what create makes.
func (c *clocked) covering(names ...string) {
	c.t.Helper()
	for _, n := range names {
		i, err := c.s.RegisterConductor(c.t.Context(), coverage.Conductor{Hostname: n, Interfaces: map[string]map[string][]string{"fake-hardware": {"power": {"fake"}}}})
		require.NoError(c.t, err)
		c.inc[n] = i
	}
}

func TestOfTwoReconcilersThatOverlapOneWrites(t *testing.T) {
	t.Parallel()
	c := clock(t)
	create(t, c.s, node.Available)
	c.covering("a", "b")
	one, other := next(t, c.s), next(t, c.s)
	_, err := c.s.WriteEpoch(t.Context(), one)
	require.NoError(t, err)
	_, err = c.s.WriteEpoch(t.Context(), other)
	kind(t, fault.Conflict, err)
	require.Equal(t, int64(1), ask[int64](t, c.url, "SELECT epoch FROM ring_epoch"))
}

// A reconciler computes an epoch, freezes, and wakes when one of the epoch's conductors is
// dead. Nobody else has written an epoch meanwhile.
func TestAReconcilerThatWakesWritesNothingForTheDead(t *testing.T) {
	t.Parallel()
	c := clock(t)
	create(t, c.s, node.Available)
	c.witness(true)
	c.covering("a", "b")
	asleep := next(t, c.s)
	c.run(16*time.Second, "b")
	_, err := c.s.WriteEpoch(t.Context(), asleep)
	kind(t, fault.Conflict, err)
	require.Equal(t, map[string]int{"": 1}, c.owners())
	epoch(t, c.s)
	require.Equal(t, map[string]int{"b": 1}, c.owners())
}

func TestADatabaseThatWasAwayMakesNoEpochOfPanic(t *testing.T) {
	t.Parallel()
	c := clock(t)
	for range 10 {
		create(t, c.s, node.Available)
	}
	c.witness(true)
	c.covering("a", "b")
	c.run(6*time.Second, both...)
	epoch(t, c.s)
	before := c.owners()
	for _, restarted := range []bool{false, true} {
		c.pass(time.Minute)
		if restarted {
			c.mine = time.Time{} // every process that could have been a witness was restarted
		}
		require.True(t, c.witness(true).Gap)
		e := next(t, c.s)
		require.Empty(t, e.Rings)
		require.Len(t, e.Members, 2)
		c.run(6*time.Second, both...)
		require.Equal(t, before, c.owners())
	}
}

func TestChangesOfNodesAreNoted(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.covering("a")
	n := create(t, c.s, node.Available)
	epoch(t, c.s)
	require.Equal(t, map[string]int{"a": 1}, c.owners())
	update := func(f func(*node.Node)) {
		_, err := c.s.UpdateNode(t.Context(), n.UUID, "", func(n *node.Node) (node.Secrets, error) { f(n); return nil, nil })
		require.NoError(t, err)
	}
	update(func(n *node.Node) { n.Description = "x" })
	require.Empty(t, next(t, c.s).Rings, "what no conductor cares about is no change")
	update(func(n *node.Node) { n.ConductorGroup = "rack-9" })
	e := epoch(t, c.s)
	require.Len(t, e.Rings, 2, "the one it left and the one it came to")
	require.Equal(t, map[string]int{"": 1}, c.owners(), "nobody serves that group")
	update(func(n *node.Node) { n.ConductorGroup = "" })
	epoch(t, c.s)
	require.Equal(t, map[string]int{"a": 1}, c.owners())
	require.NoError(t, c.s.DeleteNode(t.Context(), n.UUID, "ann", func(*node.Node) error { return nil }))
	require.Zero(t, ask[int](t, c.url, "SELECT count(*) FROM ring_owners"))
	require.Len(t, next(t, c.s).Rings, 1)
}

func TestANodeUnderOperationKeepsItsOwner(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.covering("a")
	var ops []*node.Operation
	for range 10 {
		n := create(t, c.s, node.Available)
		o, err := c.s.Request(t.Context(), n.UUID, deploy)
		require.NoError(t, err)
		ops = append(ops, o)
	}
	epoch(t, c.s)
	c.covering("b")
	e := epoch(t, c.s)
	require.Empty(t, e.Nodes)
	require.True(t, e.Rings[0].Unsettled)
	for i, o := range ops {
		_, err := c.s.Begin(t.Context(), o.ID, o.WorkflowID, fmt.Sprint(i))
		require.NoError(t, err)
		_, err = c.s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: fmt.Sprint(i), Outcome: node.Succeeded})
		require.NoError(t, err)
	}
	e = epoch(t, c.s)
	require.Len(t, e.Nodes, 5, "it is looked at again though nothing else has changed")
	require.Equal(t, map[string]int{"a": 5, "b": 5}, c.owners())
}

func TestProcessesThatMakeTheFirstNodeOfANeedAgree(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	errs := make(chan error, 20)
	for range cap(errs) {
		go func() {
			errs <- s.CreateNode(t.Context(), &node.Node{Driver: "new-hardware", ProvisionState: node.Enroll, Interfaces: map[string]string{"power": "new"}}, nil, "")
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 1, ask[int](t, url, "SELECT count(*) FROM needs"))
	require.Equal(t, 1, ask[int](t, url, "SELECT count(DISTINCT need_id) FROM nodes"))
}

func TestTheFleetsVitals(t *testing.T) {
	t.Parallel()
	c := clock(t)
	v, err := c.s.FleetHealth(t.Context())
	require.NoError(t, err)
	require.Negative(t, v.Age)
	c.register("a", "b", "c", "d")
	require.NoError(t, c.s.DrainConductor(t.Context(), "b", c.inc["b"]))
	require.NoError(t, c.s.StopConductor(t.Context(), "c", c.inc["c"]))
	raw(t, c.url, "UPDATE conductors SET heartbeat_at = heartbeat_at - interval '1 minute' WHERE hostname = 'd'")
	require.NoError(t, c.s.Reconciled(t.Context()))
	v, err = c.s.FleetHealth(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"alive": 1, "draining": 1, "stopped": 1, "dead": 1}, v.Conductors)
	require.Less(t, v.Age, time.Minute)
	require.Zero(t, v.Epoch)
}

// A list of conductors and the status of the fleet call the same ones late.
func TestAConductorIsLateWhereverItIsShown(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.register("a", "b", "d")
	raw(t, c.url, "UPDATE conductors SET heartbeat_at = heartbeat_at - interval '8 seconds' WHERE hostname = 'b'")
	raw(t, c.url, "UPDATE conductors SET heartbeat_at = heartbeat_at - interval '1 minute' WHERE hostname = 'd'")
	v, err := c.s.FleetHealth(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, v.LateCount)
	all, err := c.s.Conductors(t.Context())
	require.NoError(t, err)
	for _, one := range all {
		require.Equal(t, one.Hostname == "b", one.Late, one.Hostname)
		same, err := c.s.Conductor(t.Context(), one.Hostname)
		require.NoError(t, err)
		require.Equal(t, one.Late, same.Late)
	}

	raw(t, c.url, "UPDATE witness SET seen_at = NULL, contact_at = NULL, gap_from = NULL, gap_until = NULL")
	f, err := c.s.Fleet(t.Context())
	require.NoError(t, err, "before any witness has written")
	for _, one := range f.Conductors {
		require.Equal(t, one.Hostname == "b", one.Late, one.Hostname)
	}
}
