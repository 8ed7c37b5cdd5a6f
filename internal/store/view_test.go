package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

// A list of what projects own and lease has each node once, in the order of all nodes, and whole pages.
func TestAViewShowsWhatProjectsOwnAndLease(t *testing.T) {
	t.Parallel()
	s, url := fleetOf(t, 40)
	raw(t, url, `UPDATE nodes SET owner = CASE id % 4 WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'c' END, lessee = CASE WHEN id % 8 = 0 THEN 'b' WHEN id % 8 = 2 THEN 'a' END, parent_node = NULL, maintenance = false`)
	all, err := s.Nodes(t.Context(), node.Filter{}, node.Page{})
	require.NoError(t, err)
	for name, v := range map[string]*node.View{
		"of owners": {Owners: []string{"a"}}, "of lessees": {Lessees: []string{"b"}}, "of both": {Owners: []string{"a"}, Lessees: []string{"a"}},
		"of two projects": {Owners: []string{"a", "b"}, Lessees: []string{"a", "b"}}, "of nobody": {}, "of a stranger": {Owners: []string{"z"}, Lessees: []string{"z"}},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, n := range all {
				if v.Shows(n.Owners()) {
					want = append(want, n.UUID)
				}
			}
			for _, sort := range []node.Page{{}, {SortKey: "uuid"}, {SortDir: "desc"}, {SortKey: "owner", SortDir: "desc"}} {
				p, got := sort, []string(nil)
				p.Only, p.Limit = v, 3
				for {
					page, err := s.Nodes(t.Context(), node.Filter{}, p)
					require.NoError(t, err)
					for _, n := range page {
						got = append(got, n.UUID)
					}
					if len(page) < p.Limit {
						break
					}
					p.Marker = page[len(page)-1].UUID
				}
				require.ElementsMatch(t, want, got, "%+v", sort)
				if sort.SortKey == "" && sort.SortDir == "" {
					require.Equal(t, want, got)
				}
			}
			foreign := slices.IndexFunc(all, func(n node.Node) bool { return !v.Shows(n.Owners()) })
			_, err := s.Nodes(t.Context(), node.Filter{}, node.Page{Marker: all[foreign].UUID, Only: v, SortKey: "name"})
			require.True(t, fault.Is(err, fault.NotFound), "a marker that the view does not show: %v", err)
		})
	}
}

// shares gives one project 1,000 and another 50,000 of 100,000 nodes, the newest.
func shares(t testing.TB, url string) map[string]*node.View {
	t.Helper()
	raw(t, url, `UPDATE nodes SET owner = 'many', lessee = CASE WHEN id % 50 = 0 THEN 'few' END, parent_node = NULL WHERE id > 50000`)
	raw(t, url, `VACUUM ANALYZE nodes`)
	return map[string]*node.View{"1,000": {Owners: []string{"few"}, Lessees: []string{"few"}}, "50,000": {Owners: []string{"many"}, Lessees: []string{"many"}}}
}

func TestNoListOfAProjectReadsTheWholeTable(t *testing.T) {
	t.Parallel()
	testenv.OnlyInAll(t, "it makes 100,000 nodes")
	s, url := seeded(t)
	for name, v := range shares(t, url) {
		for _, p := range []node.Page{{Limit: 1000}, {Limit: 20, SortDir: "desc"}} {
			p.Only = v
			t.Run(fmt.Sprintf("nodes %s %d", name, p.Limit), func(t *testing.T) {
				nodes, err := s.Nodes(t.Context(), node.Filter{}, p)
				require.NoError(t, err)
				require.Len(t, nodes, p.Limit)
				for _, on := range []string{"nodes", "operations", "power_readings"} {
					require.NotContains(t, explain(t, url, s, store.NodesStatement(node.Filter{}, p)), "Seq Scan on "+on)
				}
			})
		}
	}
}

// BenchmarkNodesPageOfAProject compares the list of 1,000 nodes of those who see all with that of projects. It should cost at most a fifth
// more.
func BenchmarkNodesPageOfAProject(b *testing.B) {
	s := benchStore(b)
	seedBench(b, 100_000)
	views := shares(b, benchURL)
	views["all"] = nil
	for _, name := range []string{"all", "1,000", "50,000", "all"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				nodes, err := s.Nodes(b.Context(), node.Filter{}, node.Page{Limit: 1000, Only: views[name]})
				require.NoError(b, err)
				require.Len(b, nodes, 1000)
			}
		})
	}
}
