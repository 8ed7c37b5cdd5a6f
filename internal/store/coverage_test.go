package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// whoCovers returns the conductors that cover a node like n.
func whoCovers(t testing.TB, s *store.Store, url string, n *node.Node) []string {
	t.Helper()
	n.ProvisionState = node.Available
	require.NoError(t, s.CreateNode(t.Context(), n, nil, "admin"))
	defer raw(t, url, `DELETE FROM nodes WHERE uuid = $1`, n.UUID)
	hosts, err := s.Covering(t.Context(), n.UUID)
	require.NoError(t, err)
	names := []string{}
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	return names
}

// dice makes random fleets of few values, so that conductors and nodes fit each other often.
type dice struct{ *rand.Rand }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

func (d dice) some(from ...string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(string) bool { return d.IntN(4) == 0 })
}

// enabled returns random interfaces of a conductor: sometimes none for a driver, or for all drivers.
func (d dice) enabled() map[string]map[string][]string {
	out := map[string]map[string][]string{}
	for _, driver := range d.some("redfish", "fake-hardware") {
		out[driver] = nil
		if d.IntN(3) > 0 {
			out[driver] = map[string][]string{}
			for _, kind := range d.some("power", "deploy", "raid") {
				out[driver][kind] = d.some("fake", "redfish", "no-raid")
			}
		}
	}
	return out
}

func (d dice) wants() map[string]string {
	out := map[string]string{}
	if d.IntN(4) == 0 {
		return out
	}
	for _, kind := range d.some("power", "deploy", "raid") {
		out[kind] = pick(d, "fake", "redfish", "no-raid")
	}
	return out
}

func (d dice) group() string { return pick(d, "", "rack-1") }

// fleet registers conductors that are alive, silent, draining or stopped, and makes nodes,
// some of them under an operation.
func (d dice) fleet(t *testing.T, s *store.Store, url string) (nodes []*node.Node, operations map[string]int64) {
	for i := range 1 + d.IntN(6) {
		c := coverage.Conductor{Hostname: fmt.Sprintf("c%d", i), Group: d.group(), Interfaces: d.enabled()}
		incarnation, err := s.RegisterConductor(t.Context(), c)
		require.NoError(t, err)
		switch d.IntN(6) {
		case 0:
			require.NoError(t, s.DrainConductor(t.Context(), c.Hostname, incarnation))
		case 1:
			require.NoError(t, s.StopConductor(t.Context(), c.Hostname, incarnation))
		case 2:
			raw(t, url, `UPDATE conductors SET heartbeat_at = heartbeat_at - interval '1 hour' WHERE hostname = $1`, c.Hostname)
		}
	}
	operations = map[string]int64{}
	for range 12 {
		n := &node.Node{Driver: pick(d, "redfish", "fake-hardware"), ConductorGroup: d.group(), Interfaces: d.wants(), ProvisionState: node.Available}
		require.NoError(t, s.CreateNode(t.Context(), n, nil, "admin"))
		raw(t, url, `UPDATE nodes SET power_state = 'power off' WHERE uuid = $1`, n.UUID)
		switch d.IntN(3) {
		case 0:
			o, err := s.Request(t.Context(), n.UUID, deploy)
			require.NoError(t, err)
			operations[n.UUID] = o.ID
		case 1:
			raw(t, url, `UPDATE nodes SET owed = '["power off"]' WHERE uuid = $1`, n.UUID)
		}
		nodes = append(nodes, n)
	}
	return nodes, operations
}

// Every statement that finds out who covers a node agrees with coverage.Conductor.Covers.
func TestWhoCoversANodeIsTheSameInSQLAndInGo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d := dice{rand.New(rand.NewPCG(seed, 25))}
			s, url := openURL(t)
			nodes, operations := d.fleet(t, s, url)
			all, err := s.Conductors(t.Context())
			require.NoError(t, err)
			covering := map[string][]string{}
			free, owing := []string{}, []string{}
			lone := map[string]int{} // nodes that only this conductor covers
			for _, n := range nodes {
				who := []string{}
				for _, c := range all {
					if c.TakesWork() && c.Covers(n.ConductorGroup, n.Driver, n.Interfaces) {
						who = append(who, c.Hostname)
					}
				}
				covering[n.UUID] = who
				if len(who) == 1 {
					lone[who[0]]++
				}
				if len(who) > 0 && operations[n.UUID] == 0 {
					free = append(free, n.UUID)
					if ask[bool](t, url, `SELECT owed <> '[]' FROM nodes WHERE uuid = $1`, n.UUID) {
						owing = append(owing, n.UUID)
					}
				}
			}

			for _, n := range nodes {
				what := fmt.Sprintf("%s in %q with %v, %+v", n.Driver, n.ConductorGroup, n.Interfaces, all)
				names := whoCovers(t, s, url, &node.Node{Driver: n.Driver, ConductorGroup: n.ConductorGroup, Interfaces: n.Interfaces})
				require.Equal(t, covering[n.UUID], names, what)
				got, err := s.Node(t.Context(), n.UUID)
				require.NoError(t, err)
				require.Equal(t, len(names) == 0, got.Quarantine != nil, "read alone: %s", what)
				if id := operations[n.UUID]; id > 0 {
					_, cover, err := s.Watch(t.Context(), id)
					require.NoError(t, err)
					require.Equal(t, len(names) > 0, cover.Covered, "watched: %s", what)
				}
			}
			list, err := s.Nodes(t.Context(), node.Filter{}, node.Page{})
			require.NoError(t, err)
			for _, n := range list {
				require.Equal(t, len(covering[n.UUID]) == 0, n.Quarantine != nil, "read in a list: %s in %q with %v", n.Driver, n.ConductorGroup, n.Interfaces)
			}
			offers, err := s.Available(t.Context(), node.AvailableFilter{})
			require.NoError(t, err)
			offered := []string{}
			for _, o := range offers {
				offered = append(offered, o.UUID)
			}
			require.ElementsMatch(t, free, offered)

			f, err := s.Fleet(t.Context())
			require.NoError(t, err)
			needs := map[int64][]string{}
			for _, n := range nodes {
				needs[ask[int64](t, url, `SELECT need_id FROM nodes WHERE uuid = $1`, n.UUID)] = covering[n.UUID]
			}
			ids := map[string]int64{}
			for _, c := range all {
				ids[c.Hostname] = c.ID
			}
			ringed := map[string]bool{}
			for _, r := range coverage.Rings(f) {
				for _, line := range strings.Split(strings.TrimSuffix(r.Covers, ";"), ";") {
					ringed[line] = true
				}
			}
			for need, who := range needs {
				line := fmt.Sprintf("%d:", need)
				for _, name := range who {
					line += fmt.Sprintf("%d,", ids[name])
				}
				require.True(t, ringed[line], "the ring has not %q: %v", line, slices.Sorted(maps.Keys(ringed)))
			}

			raw(t, url, `UPDATE operations SET begun_at = now(), run_id = 'r', phase = 'waiting', asked = 'power', asked_at = now() - interval '1 minute'`)
			staleWaits, err := s.StaleWaits(t.Context())
			require.NoError(t, err)
			for uuid, id := range operations {
				require.Equal(t, len(covering[uuid]) == 0, slices.ContainsFunc(staleWaits, func(o node.Operation) bool { return o.ID == id }), "an operation whose wait does not say that nobody covers its node")
			}
			raw(t, url, `UPDATE operations SET phase = 'holding'`)
			asked, err := s.Asked(t.Context())
			require.NoError(t, err)
			for uuid, id := range operations {
				require.Equal(t, len(covering[uuid]) > 0, slices.ContainsFunc(asked, func(o node.Operation) bool { return o.ID == id }), "a power request that somebody could carry out")
			}
			undos, err := s.OpenUndos(t.Context(), []node.Step{}, "reconciliation", time.Minute, 100)
			require.NoError(t, err)
			opened := []string{}
			for _, o := range undos {
				opened = append(opened, o.NodeUUID)
			}
			require.ElementsMatch(t, owing, opened)
			for _, c := range all {
				if c.TakesWork() {
					_, err := s.AskDrain(t.Context(), c.Hostname, false)
					require.Equal(t, lone[c.Hostname] > 0, err != nil, "%s alone covers %d nodes: %v", c.Hostname, lone[c.Hostname], err)
					raw(t, url, `UPDATE conductors SET draining = false WHERE hostname = $1`, c.Hostname)
				}
			}
		})
	}
}

// A statement that compares a conductor's interfaces itself would be a second definition of coverage.
func TestWhoCoversANodeIsWrittenOnce(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	const schema = "../../schemas/migrations/00001_schema.sql"
	compares := regexp.MustCompile(`interfaces (@>|\?|->)|\.wants\b.*(@>|<@)|(@>|<@).*\.wants\b`)
	found := []string{}
	for _, f := range append(files, schema) {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			if compares.MatchString(line) {
				found = append(found, fmt.Sprintf("%s:%d: %s", f, i+1, strings.TrimSpace(line)))
			}
		}
	}
	require.Len(t, found, 1, "who covers a node is said by conductor_covers alone: %s", strings.Join(found, "\n"))
	require.Contains(t, found[0], schema)
}
