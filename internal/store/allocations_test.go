package store_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// offering returns a store with a conductor for fake-hardware in the default group.
func offering(t testing.TB) (*store.Store, string) {
	t.Helper()
	s, url := openURL(t)
	conducted(t, s)
	return s, url
}

// conducted makes conductor c1 alive now.
func conducted(t testing.TB, s *store.Store) {
	t.Helper()
	_, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: "c1", Interfaces: map[string]map[string][]string{"fake-hardware": {"power": {"fake"}}}})
	require.NoError(t, err)
}

// free makes count nodes of a class that can be allocated.
func free(t testing.TB, url, class string, count int) {
	t.Helper()
	raw(t, url, `
INSERT INTO nodes (uuid, name, driver, interfaces, resource_class, provision_state, power_state)
SELECT gen_random_uuid(), $1 || '-' || i, 'fake-hardware', '{"power": "fake"}', $1, 'available', 'power off' FROM generate_series(1, $2::int) i`, class, count)
}

func allocate(t testing.TB, s *store.Store, a node.Allocation) *node.Allocation {
	t.Helper()
	require.NoError(t, s.Allocate(t.Context(), &a, node.AllocationSearch{}, "ann"))
	return &a
}

func TestAnAllocationAndItsNodePointAtEachOther(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 1)
	a := allocate(t, s, node.Allocation{ResourceClass: "gold", Name: "web", Extra: map[string]any{"a": json.Number("1")}})
	require.Equal(t, node.Allocated, a.State)
	n, err := s.Node(t.Context(), "gold-1")
	require.NoError(t, err)
	require.Equal(t, []string{a.UUID, a.UUID, n.UUID}, []string{n.InstanceUUID, n.AllocationUUID, a.NodeUUID})
	require.Equal(t, map[string]any{"traits": []any{}}, n.InstanceInfo)
	read, err := s.Allocation(t.Context(), "web")
	require.NoError(t, err)
	require.Equal(t, []any{a.UUID, node.Allocated, n.UUID, map[string]any{"a": json.Number("1")}}, []any{read.UUID, read.State, read.NodeUUID, read.Extra})

	kind(t, fault.Conflict, s.Allocate(t.Context(), &node.Allocation{ResourceClass: "gold", Name: "web"}, node.AllocationSearch{}, ""))
	kind(t, fault.Conflict, s.Allocate(t.Context(), &node.Allocation{ResourceClass: "gold", UUID: a.UUID}, node.AllocationSearch{}, ""))

	require.NoError(t, s.DeleteAllocation(t.Context(), "web", "ann", func(*node.Node) error { return nil }))
	n, err = s.Node(t.Context(), "gold-1")
	require.NoError(t, err)
	require.Equal(t, []string{"", ""}, []string{n.InstanceUUID, n.AllocationUUID})
	require.Empty(t, n.InstanceInfo)
	_, err = s.Allocation(t.Context(), "web")
	kind(t, fault.NotFound, err)
}

func TestFiveHundredAtOnceGetFiveHundredNodes(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	const nodes = 500
	free(t, url, "gold", nodes)
	got := together(t, nodes, func(i int) (*node.Allocation, error) {
		a := &node.Allocation{ResourceClass: "gold", Name: fmt.Sprintf("web-%d", i)}
		return a, s.Allocate(t.Context(), a, node.AllocationSearch{}, "")
	})
	seen := map[string]bool{}
	for _, a := range got {
		require.Equal(t, node.Allocated, a.State, a.LastError)
		require.False(t, seen[a.NodeUUID], "node %s twice", a.NodeUUID)
		seen[a.NodeUUID] = true
	}
	require.Len(t, seen, nodes)
	require.Equal(t, nodes, ask[int](t, url, `SELECT count(*) FROM nodes n JOIN allocations t ON t.node_id = n.id
		WHERE n.instance_uuid = t.uuid AND n.allocation_uuid = t.uuid AND t.state = 'active'`))
}

// together runs do count times in parallel.
func together[T any](t *testing.T, count int, do func(int) (T, error)) []T {
	t.Helper()
	out, errs := make([]T, count), make([]error, count)
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() { out[i], errs[i] = do(i) })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return out
}

// waitsForALock returns when another connection waits for a row that tx has locked.
func waitsForALock(t *testing.T, tx pgx.Tx) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waits bool
		err := tx.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits)
		return err == nil && waits
	}, 20*time.Second, 10*time.Millisecond)
}

// waitingForARow starts to allocate beside tx, and returns when that waits for a row that tx
// has locked. The channel gets the allocation, or nil if it failed.
func waitingForARow(t *testing.T, s *store.Store, tx pgx.Tx, a *node.Allocation) <-chan *node.Allocation {
	t.Helper()
	done := make(chan *node.Allocation, 1)
	go func() {
		if s.Allocate(t.Context(), a, node.AllocationSearch{}, "") != nil {
			a = nil
		}
		done <- a
	}()
	waitsForALock(t, tx)
	return done
}

func TestTheLastNodeIsFoundWhileOthersAreHeld(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 3)
	tx, err := beside(t, url).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT 1 FROM nodes FOR UPDATE`) // locks all three without changing them
	require.NoError(t, err)
	done := waitingForARow(t, s, tx, &node.Allocation{ResourceClass: "gold"})
	require.NoError(t, tx.Rollback(t.Context()))
	a := <-done
	require.NotNil(t, a)
	require.Equal(t, node.Allocated, a.State, a.LastError)
}

func TestANodeThatAnOperationTakesWhileAnAllocationWaitsForItIsNotGiven(t *testing.T) {
	t.Parallel()
	for count, state := range map[int]node.AllocationState{1: node.AllocError, 2: node.Allocated} {
		s, url := offering(t)
		free(t, url, "gold", count)
		tx, err := beside(t, url).Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `SELECT 1 FROM nodes FOR UPDATE`)
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `
INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, requested_by, origin, conductor_group, driver, steps)
SELECT n.id, n.uuid, n.name, 'power', 'accepted', 'ann', 'available', '', n.driver, '[]' FROM nodes n ORDER BY n.id LIMIT 1`)
		require.NoError(t, err)
		done := waitingForARow(t, s, tx, &node.Allocation{Name: "gold-1", ResourceClass: "gold"})
		require.NoError(t, tx.Commit(t.Context()))
		a := <-done
		require.NotNil(t, a)
		require.Equal(t, state, a.State, a.LastError)
		require.Equal(t, count == 2, a.NodeUUID != "")
		got, err := s.Node(t.Context(), "gold-1")
		require.NoError(t, err)
		require.Empty(t, got.InstanceUUID)
	}
}

func TestARetryStormMakesOneAllocation(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 50)
	id := someUUID()
	won := together(t, 200, func(i int) (bool, error) {
		a := &node.Allocation{ResourceClass: "gold", UUID: id}
		if i%2 == 1 {
			a = &node.Allocation{ResourceClass: "gold", Name: "web"}
		}
		err := s.Allocate(t.Context(), a, node.AllocationSearch{}, "")
		if fault.Is(err, fault.Conflict) {
			return false, nil
		}
		return true, err
	})
	count := 0
	for _, w := range won {
		if w {
			count++
		}
	}
	require.Equal(t, 2, count, "one by uuid and one by name")
	require.Equal(t, 2, ask[int](t, url, `SELECT count(*) FROM nodes WHERE instance_uuid IS NOT NULL`))
	require.Equal(t, 2, ask[int](t, url, `SELECT count(*) FROM allocations`))
}

func TestMoreRequestsThanNodesFailWithTheCounts(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 20)
	got := together(t, 60, func(int) (*node.Allocation, error) {
		a := &node.Allocation{ResourceClass: "gold"}
		return a, s.Allocate(t.Context(), a, node.AllocationSearch{}, "")
	})
	states := map[node.AllocationState]int{}
	for _, a := range got {
		states[a.State]++
		if a.State == node.AllocError {
			require.Equal(t, "Failed to process allocation "+a.UUID+": no available nodes match the resource class gold (20 of class gold: 20 in use)", a.LastError)
		}
	}
	require.Equal(t, map[node.AllocationState]int{node.Allocated: 20, node.AllocError: 40}, states)
	require.Equal(t, 0, ask[int](t, url, `SELECT count(*) FROM allocations WHERE state = 'allocating'`))
}

func TestWhatIsNotOfferedIsToldByItsReason(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 13)
	for i, change := range []string{
		"provision_state = 'active'", "provision_state = 'active', maintenance = true", "provision_state = 'cleaning'",
		"conductor_group = 'nowhere'", "driver = 'redfish'", `interfaces = '{"power": "ipmi"}'`, "conductor_group = 'nowhere', maintenance = true",
		"maintenance = true", "fault = 'clean failure', maintenance = true", "power_state = NULL", "power_state = 'error'",
		"instance_uuid = gen_random_uuid()", "retired = true",
	} {
		raw(t, url, "UPDATE nodes SET "+change+" WHERE name = $1", fmt.Sprintf("gold-%d", i+1))
	}
	a := allocate(t, s, node.Allocation{ResourceClass: "gold"})
	require.Equal(t, node.AllocError, a.State)
	require.Equal(t, "Failed to process allocation "+a.UUID+": no available nodes match the resource class gold (13 of class gold: "+
		"4 quarantined, 2 active, 2 with an unknown power state, 1 cleaning, 1 in maintenance, 1 in use, 1 retired, 1 with a fault)", a.LastError)

	free(t, url, "tin", 2)
	raw(t, url, `UPDATE nodes SET traits = '{CUSTOM_A}' WHERE name = 'tin-1'`)
	a = allocate(t, s, node.Allocation{ResourceClass: "tin", Traits: []string{"CUSTOM_B", "CUSTOM_A"}})
	require.Contains(t, a.LastError, "no suitable nodes have the requested traits CUSTOM_B, CUSTOM_A (2 of class tin: 2 without the traits)")
	a = allocate(t, s, node.Allocation{ResourceClass: "tin", Traits: []string{"CUSTOM_A"}})
	require.Equal(t, node.Allocated, a.State)
	a = allocate(t, s, node.Allocation{ResourceClass: "lead"})
	require.Contains(t, a.LastError, "no available nodes match the resource class lead (0 of class lead)")
	other, err := s.Node(t.Context(), "gold-1")
	require.NoError(t, err)
	a = allocate(t, s, node.Allocation{ResourceClass: "tin", CandidateNodes: []string{other.UUID}})
	require.Contains(t, a.LastError, "none of the requested nodes are available and match the resource class tin (1 requested: 1 of another class)")

	free(t, url, "iron", 1)
	raw(t, url, `INSERT INTO operations (node_id, node_uuid, kind, phase, origin, conductor_group, driver)
		SELECT id, uuid, 'power', 'accepted', 'available', '', driver FROM nodes WHERE name = 'iron-1'`)
	require.Contains(t, allocate(t, s, node.Allocation{ResourceClass: "iron"}).LastError, "1 held by an operation")
}

func TestANodeOfTheSameNameComesFirst(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 30)
	a := allocate(t, s, node.Allocation{ResourceClass: "gold", Name: "gold-23"})
	n, err := s.Node(t.Context(), "gold-23")
	require.NoError(t, err)
	require.Equal(t, n.UUID, a.NodeUUID)
}

func TestMaintenanceIsABarrier(t *testing.T) {
	s, url := offering(t)
	free(t, url, "gold", 1)
	require.NoError(t, maintain(t, s, "gold-1", true, "disk swap", "ann"))
	n, err := s.Node(t.Context(), "gold-1")
	require.NoError(t, err)
	asks, names := []string{node.TraitMaintenance}, []string{n.UUID}
	for what, a := range map[string]node.Allocation{
		"no traits": {}, "named only": {CandidateNodes: names}, "asked for only": {Traits: asks},
	} {
		a.ResourceClass = "gold"
		require.Equal(t, node.AllocError, allocate(t, s, a).State, what)
	}
	for what, change := range map[string]string{
		"a fault": "fault = 'power failure'", "nobody to serve it": "conductor_group = 'nowhere'",
	} {
		raw(t, url, "UPDATE nodes SET "+change)
		require.Equal(t, node.AllocError, allocate(t, s, node.Allocation{ResourceClass: "gold", Traits: asks, CandidateNodes: names}).State, what)
		raw(t, url, "UPDATE nodes SET fault = NULL, conductor_group = ''")
	}
	a := allocate(t, s, node.Allocation{ResourceClass: "gold", Traits: asks, CandidateNodes: names})
	require.Equal(t, node.Allocated, a.State, a.LastError)
	n, err = s.Node(t.Context(), "gold-1")
	require.NoError(t, err)
	require.True(t, n.AllocatedInMaintenance)
	require.Equal(t, map[string]any{"traits": []any{node.TraitMaintenance}}, n.InstanceInfo)

	free(t, url, "tin", 1)
	tin, err := s.Node(t.Context(), "tin-1")
	require.NoError(t, err)
	a = allocate(t, s, node.Allocation{ResourceClass: "tin", Traits: asks, CandidateNodes: []string{tin.UUID}})
	require.Contains(t, a.LastError, "without the traits", "a node that is not in maintenance does not have the trait")
}

func TestProjects(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 3)
	raw(t, url, `UPDATE nodes SET owner = 'p1' WHERE name = 'gold-1'`)
	raw(t, url, `UPDATE nodes SET owner = 'p1', lessee = 'p2' WHERE name = 'gold-2'`)
	named, err := s.NodeUUIDs(t.Context(), []string{"gold-1", "gold-2", "gold-3", "nobody", someUUID()}, nil)
	require.NoError(t, err)
	require.Len(t, named, 3)
	try := func(a node.Allocation, dedicated bool) string {
		a.ResourceClass = "gold"
		require.NoError(t, s.Allocate(t.Context(), &a, node.AllocationSearch{Dedicated: dedicated}, ""))
		if a.State == node.Allocated {
			require.NoError(t, s.DeleteAllocation(t.Context(), a.UUID, "", func(*node.Node) error { return nil }))
		}
		for name, uuid := range named {
			if uuid == a.NodeUUID {
				return name
			}
		}
		return ""
	}
	require.Equal(t, "gold-2", try(node.Allocation{Owner: "p2"}, false), "the lessee's")
	require.Contains(t, []string{"gold-1", "gold-2"}, try(node.Allocation{Owner: "p1"}, false))
	require.Empty(t, try(node.Allocation{Owner: "p3"}, false))
	for range 5 {
		require.Equal(t, "gold-3", try(node.Allocation{}, true), "dedicated nodes are for their projects")
	}
	require.Equal(t, "gold-1", try(node.Allocation{CandidateNodes: []string{named["gold-1"]}}, true), "and for who names them")
	require.Equal(t, "gold-1", try(node.Allocation{Name: "gold-1"}, false))
}

func TestAllocationsAreListed(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 2)
	a := allocate(t, s, node.Allocation{ResourceClass: "gold", Name: "b", Owner: ""})
	c := allocate(t, s, node.Allocation{ResourceClass: "tin", Name: "a", Owner: "p1"})
	uuids := func(f node.AllocationFilter, p node.Page) (out []string) {
		all, err := s.Allocations(t.Context(), f, p)
		require.NoError(t, err)
		for _, x := range all {
			out = append(out, x.UUID)
		}
		return out
	}
	require.Equal(t, []string{a.UUID, c.UUID}, uuids(node.AllocationFilter{}, node.Page{}))
	require.Equal(t, []string{c.UUID, a.UUID}, uuids(node.AllocationFilter{}, node.Page{SortKey: "name"}))
	require.Equal(t, []string{c.UUID}, uuids(node.AllocationFilter{}, node.Page{Marker: a.UUID}))
	require.Equal(t, []string{a.UUID}, uuids(node.AllocationFilter{Node: &a.NodeUUID}, node.Page{}))
	require.Equal(t, []string{c.UUID}, uuids(node.AllocationFilter{State: ptr("error")}, node.Page{}))
	require.Equal(t, []string{c.UUID}, uuids(node.AllocationFilter{Owner: ptr("p1")}, node.Page{}))
	require.Equal(t, []string{c.UUID}, uuids(node.AllocationFilter{ResourceClass: ptr("tin")}, node.Page{}))
	_, err := s.Allocations(t.Context(), node.AllocationFilter{}, node.Page{Marker: someUUID()})
	kind(t, fault.NotFound, err)
	changed, err := s.UpdateAllocation(t.Context(), "a", func(x *node.Allocation) error { x.Name, x.Extra = "z", map[string]any{"k": "v"}; return nil })
	require.NoError(t, err)
	require.NotNil(t, changed.UpdatedAt)
	_, err = s.UpdateAllocation(t.Context(), "z", func(x *node.Allocation) error { x.Name = "b"; return nil })
	kind(t, fault.Conflict, err)
	require.NoError(t, s.DeleteAllocation(t.Context(), "z", "", nil), "one without a node needs no leave")
}

func TestAnAllocationGoesWithItsInstance(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 4)
	for name, end := range map[string]func(n *node.Node){
		"gold-1": func(n *node.Node) {
			require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "ann", func(*node.Node) error { return nil }))
		},
		"gold-2": func(n *node.Node) {
			_, err := s.UpdateNode(t.Context(), n.UUID, "ann", func(n *node.Node) (node.Secrets, error) { n.InstanceUUID = ""; return nil, nil })
			require.NoError(t, err)
		},
		"gold-4": func(n *node.Node) {
			_, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
				return &node.Request{Apply: func(n *node.Node) { n.InstanceUUID, n.AllocationUUID = "", "" }}, nil
			})
			require.NoError(t, err)
		},
		"gold-3": func(n *node.Node) {
			raw(t, url, `UPDATE nodes SET provision_state = 'active' WHERE uuid = $1`, n.UUID)
			o, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
				return &node.Request{Move: []node.Event{node.EventDelete}, Open: &node.Operation{Kind: node.KindUndeploy, Target: node.Available}}, nil
			})
			require.NoError(t, err)
			_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: "no"})
			require.NoError(t, err)
		},
	} {
		a := allocate(t, s, node.Allocation{ResourceClass: "gold", Name: name})
		n, err := s.Node(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, n.UUID, a.NodeUUID)
		end(n)
		_, err = s.Allocation(t.Context(), name)
		kind(t, fault.NotFound, err)
		if n, err = s.Node(t.Context(), name); err == nil {
			require.Equal(t, []string{"", ""}, []string{n.AllocationUUID, n.InstanceUUID}, name)
		}
	}
	require.Equal(t, 0, ask[int](t, url, `SELECT count(*) FROM allocations`))
}

func TestFindingANodeReadsFewOfThem(t *testing.T) {
	t.Parallel()
	s, url := seeded(t)
	raw(t, url, `UPDATE nodes SET resource_class = 'lead' WHERE id % 100 = 0`)
	raw(t, url, "ANALYZE nodes")
	a := node.Allocation{UUID: someUUID(), Name: "web", ResourceClass: "tin", Traits: []string{}, CandidateNodes: []string{someUUID(), someUUID()}}
	for name, st := range s.AllocateStatements(a) {
		t.Run(name, func(t *testing.T) {
			if name == "the failure" {
				t.Skip("reads the class")
			}
			require.NotContains(t, explain(t, url, s, []store.Statement{st}), "Seq Scan on nodes")
		})
	}
	start := time.Now()
	for range 100 {
		require.Equal(t, node.Allocated, allocate(t, s, node.Allocation{ResourceClass: "tin"}).State)
	}
	t.Log("an allocation of 100,000:", time.Since(start)/100)
	start = time.Now()
	failed := allocate(t, s, node.Allocation{ResourceClass: "tin", Traits: []string{"CUSTOM_A"}})
	require.Contains(t, failed.LastError, "without the traits")
	t.Log("a failure among 100,000:", time.Since(start), failed.LastError)
}
