package ring_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/ring"
)

// world is a fleet in which members and nodes have names.
type world struct {
	t       testing.TB
	members []string
	covers  func(member string, class int) bool
	classes int
	nodes   map[string]int    // key -> class
	pinned  map[string]bool   // by key
	owner   map[string]string // the epoch before
	next    int
}

func newWorld(t testing.TB, members, nodes int) *world {
	w := &world{
		t: t, classes: 1, covers: func(string, int) bool { return true }, nodes: map[string]int{},
		pinned: map[string]bool{}, owner: map[string]string{},
	}
	w.join(members)
	w.create(nodes, 0)
	return w
}

func (w *world) join(n int) {
	for range n {
		w.next++
		w.members = append(w.members, fmt.Sprintf("conductor-%03d.example.org", w.next))
	}
}

func (w *world) create(n, class int) {
	for range n {
		w.next++
		w.nodes[fmt.Sprintf("%08x-03f2-4d2e-ae87-c02d7f33c123", w.next)] = class
	}
}

func (w *world) leave(name string) {
	w.members = slices.DeleteFunc(w.members, func(m string) bool { return m == name })
}

func (w *world) fleet() (ring.Fleet, []string) {
	f := ring.Fleet{Members: slices.Clone(w.members), Covers: make([][]int, w.classes)}
	for c := range w.classes {
		for i, m := range f.Members {
			if w.covers(m, c) {
				f.Covers[c] = append(f.Covers[c], i)
			}
		}
	}
	var keys []string
	for k, class := range w.nodes {
		f.Nodes = append(f.Nodes, ring.Node{Key: k, Class: class, Owner: slices.Index(f.Members, w.owner[k]), Pinned: w.pinned[k]})
		keys = append(keys, k)
	}
	return f, keys
}

// epoch computes the next epoch and checks what must always hold. It returns the
// nodes that moved, by their new owners.
func (w *world) epoch() map[string][]string {
	w.t.Helper()
	f, keys := w.fleet()
	got := ring.Balance(f)
	moved := map[string][]string{}
	owner := map[string]string{}
	for i, k := range keys {
		if got[i] == ring.None {
			require.Empty(w.t, f.Covers[w.nodes[k]], "a covered node has an owner")
			continue
		}
		m := f.Members[got[i]]
		require.True(w.t, w.covers(m, w.nodes[k]), "the owner covers the node")
		if before := w.owner[k]; before != m {
			require.False(w.t, w.pinned[k] && slices.Contains(w.members, before) && w.covers(before, w.nodes[k]), "a pinned node stays")
			moved[m] = append(moved[m], k)
		}
		owner[k] = m
	}
	w.owner = owner
	return moved
}

func (w *world) loads() map[string]int {
	out := map[string]int{}
	for _, m := range w.members {
		out[m] = 0
	}
	for _, m := range w.owner {
		out[m]++
	}
	return out
}

// bounded requires that the load of every member is between 95 and 105 percent of the
// mean, rounded to whole nodes.
func (w *world) bounded() {
	w.t.Helper()
	n, members := len(w.nodes), len(w.members)
	if members == 0 {
		return
	}
	most := max((n+members-1)/members, n*105/(100*members))
	least := min(n/members, (n*95+100*members-1)/(100*members))
	for m, l := range w.loads() {
		require.LessOrEqual(w.t, l, most, "%s of %d members, %d nodes", m, members, n)
		require.GreaterOrEqual(w.t, l, least, "%s of %d members, %d nodes", m, members, n)
	}
}

func TestEveryMemberHasTheMean(t *testing.T) {
	for _, c := range []struct{ members, nodes int }{{1, 100}, {2, 3}, {3, 2}, {7, 1000}, {10, 0}, {10, 12345}, {100, 10000}} {
		w := newWorld(t, c.members, c.nodes)
		w.epoch()
		w.bounded()
		sized(t, c.nodes, w.owner)
		require.Empty(t, w.epoch(), "and the next epoch moves nothing")
	}
}

func TestNobodyOwnsWhatNobodyCovers(t *testing.T) {
	w := newWorld(t, 0, 10)
	w.epoch()
	require.Empty(t, w.owner)
	w.join(3)
	w.covers = func(string, int) bool { return false }
	w.epoch()
	require.Empty(t, w.owner)
}

func TestLosingAMemberMovesOnlyItsNodesAndSpreadsThem(t *testing.T) {
	for _, members := range []int{2, 3, 10, 50} {
		w := newWorld(t, members, members*200)
		w.epoch()
		gone := w.members[members/2]
		before := w.owner
		w.leave(gone)
		moved := w.epoch()
		for m, keys := range moved {
			for _, k := range keys {
				require.Equal(t, gone, before[k])
			}
			require.LessOrEqual(t, len(keys), 200/(members-1)+1, "%s takes its part", m)
		}
		sized(t, members-1, moved)
		w.bounded()
	}
}

func TestAddingAMemberMovesOnlyWhatItTakes(t *testing.T) {
	for _, members := range []int{1, 2, 3, 10, 50, 101} {
		w := newWorld(t, members, members*100+7)
		w.epoch()
		w.join(1)
		newcomer := w.members[members]
		moved := w.epoch()
		sized(t, 1, moved)
		require.LessOrEqual(t, len(moved[newcomer]), len(w.nodes)/(members+1)+1)
		w.bounded()
	}
}

func TestANodeUnderOperationStaysWhileItsOwnerLives(t *testing.T) {
	w := newWorld(t, 2, 100)
	w.epoch()
	for k := range w.nodes {
		w.pinned[k] = true
	}
	before := w.owner
	w.join(2)
	require.Empty(t, w.epoch())
	clear(w.pinned)
	w.epoch()
	w.bounded()
	for k := range w.nodes {
		w.pinned[k] = true
	}
	gone := w.members[0]
	w.leave(gone)
	for _, keys := range w.epoch() {
		for _, k := range keys {
			require.NotEqual(t, gone, w.owner[k])
			require.NotEqual(t, before[k], w.owner[k])
		}
	}
}

// Two members may enable the same driver with different interfaces.
func TestOnlyThoseThatCoverANodeOwnIt(t *testing.T) {
	w := newWorld(t, 4, 0)
	few := slices.Clone(w.members[:2])
	w.classes = 3
	w.covers = func(m string, class int) bool {
		return class == 0 || class == 1 && slices.Contains(few, m)
	}
	w.create(400, 0)
	w.create(150, 1)
	w.create(50, 2)
	w.epoch()
	sized(t, 550, w.owner)
	for m, l := range w.loads() {
		require.InDelta(t, 550/4, l, 2, m)
	}
	w.leave(few[0])
	w.leave(few[1])
	w.epoch()
	sized(t, 400, w.owner)
}

// After many changes, one after the other, the same must hold as for a fleet that never changed.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, 1+r.IntN(20), r.IntN(2000))
			w.epoch()
			for range 30 {
				joined, left := 0, map[string]bool{}
				var created, deleted int
				switch r.IntN(5) {
				case 0:
					joined = 1 + r.IntN(3)
					w.join(joined)
				case 1:
					for range 1 + r.IntN(3) {
						if len(w.members) > 1 {
							m := w.members[r.IntN(len(w.members))]
							left[m] = true
							w.leave(m)
						}
					}
				case 2:
					created = r.IntN(100)
					w.create(created, 0)
				case 3:
					for k := range w.nodes {
						if deleted++; deleted > 30 {
							break
						}
						delete(w.nodes, k)
						delete(w.owner, k)
					}
				}
				before := w.owner
				moved := w.epoch()
				w.bounded()
				sized(t, len(w.nodes), w.owner)
				for m, keys := range moved {
					for _, k := range keys {
						switch {
						case joined > 0:
							require.Greater(t, slices.Index(w.members, m), len(w.members)-1-joined, "only newcomers take")
						case len(left) > 0:
							require.True(t, left[before[k]], "only what was theirs moves")
						case created > 0 && deleted == 0 && before[k] != "":
							require.Fail(t, "new nodes move no old ones")
						}
					}
				}
			}
		})
	}
}

func TestTheSameFleetGivesTheSameOwners(t *testing.T) {
	w := newWorld(t, 20, 3000)
	w.epoch()
	w.join(3)
	w.leave(w.members[4])
	f, keys := w.fleet()
	want := ring.Balance(f)
	for range 3 {
		turned := ring.Fleet{Members: slices.Clone(f.Members)}
		slices.Reverse(turned.Members)
		at := func(i int) int {
			if i == ring.None {
				return i
			}
			return len(f.Members) - 1 - i
		}
		turned.Covers = [][]int{nil}
		for _, i := range f.Covers[0] {
			turned.Covers[0] = append(turned.Covers[0], at(i))
		}
		order := rand.Perm(len(keys))
		for _, i := range order {
			n := f.Nodes[i]
			n.Owner = at(n.Owner)
			turned.Nodes = append(turned.Nodes, n)
		}
		got := ring.Balance(turned)
		for j, i := range order {
			require.Equal(t, f.Members[want[i]], turned.Members[got[j]])
		}
	}
}

// plainRing is the ring that Ironic keeps: 32 points a conductor, the next one
// on it owns the node (ironic-lib, hash_ring.py; hash_partition_exponent 5).
func plainRing(members, keys []string) map[string]int {
	type point struct {
		at  uint64
		who string
	}
	var points []point
	for _, m := range members {
		for i := range 32 {
			points = append(points, point{ring.Hash(fmt.Sprintf("%s-%d", m, i)), m})
		}
	}
	slices.SortFunc(points, func(a, b point) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	load := map[string]int{}
	for _, k := range keys {
		i, _ := slices.BinarySearchFunc(points, ring.Hash(k), func(p point, h uint64) int {
			if p.at < h {
				return -1
			}
			return 1
		})
		load[points[i%len(points)].who]++
	}
	return load
}

func TestBesideAPlainRing(t *testing.T) {
	for _, members := range []int{10, 100} {
		w := newWorld(t, members, members*1000)
		w.epoch()
		worst := 0
		for _, l := range w.loads() {
			worst = max(worst, l)
		}
		var keys []string
		for k := range w.nodes {
			keys = append(keys, k)
		}
		plain := 0
		for _, l := range plainRing(w.members, keys) {
			plain = max(plain, l)
		}
		t.Logf("%d conductors: max/mean %.2f on a plain ring of 32 points, %.2f here", members, float64(plain)/1000, float64(worst)/1000)
		require.LessOrEqual(t, worst, 1050)
		require.Greater(t, plain, 1200)
	}
}

func BenchmarkBalanceOfAMillion(b *testing.B) {
	f := ring.Fleet{Covers: [][]int{nil}}
	for i := range 1000 {
		f.Members = append(f.Members, fmt.Sprintf("conductor-%04d", i))
		f.Covers[0] = append(f.Covers[0], i)
	}
	for i := range 1_000_000 {
		f.Nodes = append(f.Nodes, ring.Node{Key: fmt.Sprintf("%08x-03f2-4d2e-ae87-c02d7f33c123", i), Owner: ring.None})
	}
	b.Run("from nothing", func(b *testing.B) {
		for b.Loop() {
			ring.Balance(f)
		}
	})
	owners := ring.Balance(f)
	for i := range f.Nodes {
		f.Nodes[i].Owner = owners[i]
	}
	f.Covers[0] = f.Covers[0][10:]
	b.Run("ten die", func(b *testing.B) {
		for b.Loop() {
			ring.Balance(f)
		}
	})
}

// sized requires a length. If it differs, it does not print thousands of nodes.
func sized[V any](t testing.TB, want int, m map[string]V) {
	t.Helper()
	got := len(m)
	require.Equal(t, want, got)
}
