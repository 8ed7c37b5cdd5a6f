package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// More nodes than one transaction writes, and few enough for one tick also on a busy machine, which leaves to the next tick what it can't
// write in quarantineTime. The bench measures 100,000.
func TestAMassOutageIsWrittenDownInOneTick(t *testing.T) {
	t.Parallel()
	s, url := fleetOf(t, 12_000)
	raw(t, url, `UPDATE conductors SET stopped_at = clock_timestamp() WHERE conductor_group <> 'rack-0'`)
	lost := ask[int](t, url, `SELECT count(*) FROM nodes WHERE conductor_group <> 'rack-0'`)
	require.Greater(t, lost, 7_500)
	began := time.Now()
	tick(t, s, lost, 0)
	t.Log(lost, "nodes quarantined in", time.Since(began))
	require.Equal(t, lost, ask[int](t, url, `SELECT count(*) FROM events WHERE text LIKE 'quarantined: %' AND event_type = 'quarantine' AND severity = 'ERROR'`))
	began = time.Now()
	tick(t, s, 0, 0)
	t.Log("nothing new:", time.Since(began))
	for what, f := range map[string]node.Filter{
		"in maintenance": {Maintenance: ptr(true)}, "not in maintenance": {Maintenance: ptr(false)}, "no conductor": {Fault: ptr(node.FaultNoConductor)},
	} {
		first, err := s.Nodes(t.Context(), f, node.Page{Limit: 1000})
		require.NoError(t, err)
		require.Len(t, first, 1000)
		began = time.Now()
		for range 10 {
			page, err := s.Nodes(t.Context(), f, node.Page{Limit: 1000, Marker: first[999].UUID})
			require.NoError(t, err)
			require.Len(t, page, 1000)
		}
		t.Log("a page of nodes", what, time.Since(began)/10)
	}
	raw(t, url, `UPDATE conductors SET stopped_at = NULL`)
	began = time.Now()
	tick(t, s, 0, lost)
	t.Log("released in", time.Since(began))
	require.Zero(t, ask[int](t, url, `SELECT count(*) FROM quarantines`))
}

// A page that is merged from several needs is equal to the page of a single scan.
func TestPagesOfNodesInQuarantineAreThoseOfTheWholeList(t *testing.T) {
	t.Parallel()
	s, url := fleetOf(t, 2500)
	raw(t, url, `UPDATE nodes SET maintenance = true WHERE id % 7 = 0`)
	raw(t, url, `UPDATE nodes SET fault = 'clean failure' WHERE id % 50 = 0`)
	raw(t, url, `UPDATE conductors SET stopped_at = clock_timestamp() WHERE conductor_group IN ('rack-1', 'rack-9')`)
	const in, maintained = "conductor_group IN ('rack-1', 'rack-9')", "maintenance OR conductor_group IN ('rack-1', 'rack-9')"
	for where, f := range map[string]node.Filter{
		maintained: {Maintenance: ptr(true), IncludeChildren: true},
		"(" + maintained + ") AND provision_state = 'available' AND parent_node IS NULL": {Maintenance: ptr(true), ProvisionState: ptr(node.Available)},
		in + " AND fault IS NULL":                          {Fault: ptr(node.FaultNoConductor), IncludeChildren: true},
		in + " AND fault IS NULL AND (" + maintained + ")": {Fault: ptr(node.FaultNoConductor), Maintenance: ptr(true), IncludeChildren: true},
		"false": {Fault: ptr(node.FaultNoConductor), Maintenance: ptr(false), IncludeChildren: true},
	} {
		want := ask[[]string](t, url, "SELECT coalesce(array_agg(uuid::text ORDER BY id), '{}') FROM nodes WHERE "+where)
		for _, p := range []node.Page{{}, {SortDir: "desc"}, {SortKey: "created_at"}, {SortKey: "created_at", SortDir: "desc"}} {
			p.Limit = 200
			got := []string{}
			for {
				nodes, err := s.Nodes(t.Context(), f, p)
				require.NoError(t, err)
				for i := range nodes {
					got, p.Marker = append(got, nodes[i].UUID), nodes[i].UUID
				}
				if len(nodes) < p.Limit {
					break
				}
			}
			if p.SortDir == "desc" {
				slices.Reverse(got)
			}
			require.Equal(t, want, got, "%s %+v", where, p)
		}
	}
}
