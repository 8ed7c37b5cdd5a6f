package store_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// One expression says whether a node is offered, another one why it is not. They agree
// for all kinds of nodes and requests.
func TestANodeIsOfferedExactlyIfThereIsNoReasonAgainstIt(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	raw(t, url, `
INSERT INTO nodes (uuid, driver, interfaces, conductor_group, resource_class, provision_state, power_state, maintenance, fault, retired,
	instance_uuid, owner, lessee, traits)
SELECT gen_random_uuid(), CASE WHEN r[1] < 0.1 THEN 'redfish' ELSE 'fake-hardware' END, CASE WHEN r[2] < 0.1 THEN '{"power": "ipmi"}'::jsonb ELSE '{"power": "fake"}' END,
	CASE WHEN r[3] < 0.1 THEN 'nowhere' ELSE '' END, CASE WHEN r[4] < 0.1 THEN NULL WHEN r[4] < 0.3 THEN 'tin' ELSE 'gold' END,
	CASE WHEN r[5] < 0.2 THEN 'active' ELSE 'available' END, CASE WHEN r[6] < 0.1 THEN NULL WHEN r[6] < 0.2 THEN 'error' ELSE 'power off' END,
	r[7] < 0.3, CASE WHEN r[8] < 0.1 THEN 'power failure' END, r[9] < 0.1, CASE WHEN r[10] < 0.1 THEN gen_random_uuid() END,
	CASE WHEN r[11] < 0.3 THEN 'p1' END, CASE WHEN r[12] < 0.3 THEN 'p2' END,
	CASE WHEN r[13] < 0.3 THEN '{CUSTOM_A}' WHEN r[13] < 0.6 THEN '{CUSTOM_A,CUSTOM_B}' ELSE '{}' END::text[]
  FROM (SELECT ARRAY(SELECT random() FROM generate_series(1, 13) j WHERE i IS NOT NULL) AS r FROM generate_series(1, 3000) i) s`)
	raw(t, url, `INSERT INTO operations (node_id, node_uuid, kind, phase, origin, conductor_group, driver)
		SELECT id, uuid, 'power', 'accepted', 'available', '', driver FROM nodes WHERE id % 10 = 0`)
	raw(t, url, `INSERT INTO node_health (node_id, status, since, read_at)
		SELECT id, CASE id % 3 WHEN 0 THEN 'critical' WHEN 1 THEN 'warning' ELSE 'ok' END, now(), now() FROM nodes WHERE id % 4 > 0`)
	withheld := connect(t, store.Config{URL: url, Keyset: keyset, WithholdUnhealthy: true})
	all, most := 0, 0
	sometimes := 0
	for _, class := range []string{"gold", "tin", "lead"} {
		for _, owner := range []string{"", "p1", "p2", "p3"} {
			for _, traits := range [][]string{nil, {"CUSTOM_A"}, {"CUSTOM_B", "CUSTOM_A"}, {node.TraitMaintenance}, {"CUSTOM_A", node.TraitMaintenance}} {
				for _, named := range [][]string{nil, {someUUID()}} {
					for _, dedicated := range []bool{false, true} {
						a := node.Allocation{ResourceClass: class, Owner: owner, Traits: traits, CandidateNodes: named}
						wrong, offered := s.Disagreeing(t.Context(), t, a, dedicated)
						require.Zero(t, wrong, "%+v dedicated %v", a, dedicated)
						all += offered
						wrong, healthy := withheld.Disagreeing(t.Context(), t, a, dedicated)
						require.Zero(t, wrong, "%+v dedicated %v, without unhealthy nodes", a, dedicated)
						most += healthy
						if offered > 0 {
							sometimes++
						}
						if a.AsksMaintenance() && named == nil {
							require.Zero(t, offered, "%+v", a)
						}
					}
				}
			}
		}
	}
	require.Greater(t, sometimes, 50)
	require.Less(t, most, all, "nodes in critical health are not offered if the setting says so")
	require.Positive(t, most)
}

// Whatever happens at the same time, an allocation and its node refer to each other.
func TestAllocationsAndNodesAgreeUnderRandomHistories(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	const nodes = 12
	free(t, url, "gold", nodes)
	allowed := func(n *node.Node) error { return admission.Deallocate(n, "") }
	consistent := func() int {
		return ask[int](t, url, `SELECT count(*) FROM nodes n FULL JOIN allocations t ON t.node_id = n.id
			WHERE (t.id IS NOT NULL OR n.allocation_uuid IS NOT NULL) AND t.state IS DISTINCT FROM 'error'
			  AND (n.allocation_uuid, n.instance_uuid, t.state) IS DISTINCT FROM (t.uuid, t.uuid, 'active')`)
	}
	history := func(seed int) {
		r := rand.New(rand.NewPCG(uint64(seed), 7)) //nolint:gosec // a test's dice
		for range 60 {
			name := fmt.Sprintf("gold-%d", 1+r.IntN(nodes))
			switch r.IntN(6) {
			case 0, 1:
				_ = s.Allocate(t.Context(), &node.Allocation{ResourceClass: "gold", Name: name}, node.AllocationSearch{}, "")
			case 2:
				_ = s.DeleteAllocation(t.Context(), name, "", allowed)
			case 3:
				_, _ = s.SetMaintenance(t.Context(), name, r.IntN(2) == 0, "", "")
			case 4:
				_, _ = s.UpdateNode(t.Context(), name, "", func(n *node.Node) (node.Secrets, error) {
					if n.ProvisionState == node.Available {
						n.InstanceUUID = ""
					}
					return nil, nil
				})
			case 5:
				event, kind := node.EventDeploy, node.KindDeploy
				if r.IntN(2) == 0 {
					event, kind = node.EventDelete, node.KindUndeploy
				}
				o, err := s.Request(t.Context(), name, func(*node.Node) (*node.Request, error) {
					return &node.Request{Move: []node.Event{event}, Open: &node.Operation{Kind: kind}}, nil
				})
				if err == nil {
					_, _ = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Succeeded})
				}
			}
		}
	}
	var all sync.WaitGroup
	for seed := range 12 {
		all.Go(func() { history(seed) })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		require.Zero(t, consistent())
	}
	require.Positive(t, ask[int](t, url, `SELECT count(*) FROM events WHERE text LIKE 'allocated to %'`))
}
