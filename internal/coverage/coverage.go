// Package coverage computes which conductors cover which nodes, and the next epoch of the
// ring. It is pure: it does no I/O and reads no clock.
package coverage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/ring"
)

// Ring is the ring of a conductor group and driver.
type Ring struct {
	Group, Driver string
	Members       []Conductor   // the conductors that cover any of its requirements
	Requirements  []Requirement // by id
	Covers        string        // which conductor covers which requirement, as text; an epoch has the same text
	Stale         bool          // the epoch was computed from other input

	covers [][]int // for each requirement the indices of the members that cover it
}

// Rings returns the rings of a fleet, sorted by group and driver.
func Rings(f *Fleet) []Ring {
	by := map[[2]string]*Ring{}
	for _, p := range f.Requirements {
		key := [2]string{p.Group, p.Driver}
		if by[key] == nil {
			by[key] = &Ring{Group: p.Group, Driver: p.Driver}
		}
		by[key].Requirements = append(by[key].Requirements, p)
	}
	computed := map[[2]string]RingState{}
	for _, r := range f.Rings {
		computed[[2]string{r.Group, r.Driver}] = r
	}
	out := make([]Ring, 0, len(by))
	for key, r := range by {
		r.computeCoverage(f.Members)
		before, known := computed[key]
		r.Stale = !known || before.Covers != r.Covers || before.Unsettled ||
			slices.ContainsFunc(r.Requirements, func(p Requirement) bool { return slices.Contains(f.Changed, p.ID) })
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Ring) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Driver, b.Driver))
	})
	return out
}

// computeCoverage sets Members and Covers.
func (r *Ring) computeCoverage(members []Conductor) {
	for _, c := range members {
		if slices.ContainsFunc(r.Requirements, func(p Requirement) bool { return c.Covers(p.Group, p.Driver, p.Interfaces) }) {
			r.Members = append(r.Members, c)
		}
	}
	var text strings.Builder
	for _, p := range r.Requirements {
		var who []int
		fmt.Fprintf(&text, "%d:", p.ID)
		for i, c := range r.Members {
			if c.Covers(p.Group, p.Driver, p.Interfaces) {
				who = append(who, i)
				fmt.Fprintf(&text, "%d,", c.ID)
			}
		}
		text.WriteByte(';')
		r.covers = append(r.covers, who)
	}
	r.Covers = text.String()
}

// Move is a change of a node's owner.
type Move struct {
	Node     RingNode
	From, To int64 // conductors; 0 = nobody
}

// Next computes the ring's next epoch. It returns the moves, and whether the epoch is
// unsettled: without the operations that pin nodes to their owners, others would own them.
func (r *Ring) Next(nodes []RingNode) (moves []Move, unsettled bool) {
	f := r.fleet(nodes)
	owners := ring.Balance(f)
	for i, o := range owners {
		to := int64(0)
		if o != ring.None {
			to = r.Members[o].ID
		}
		if to != nodes[i].Owner {
			moves = append(moves, Move{Node: nodes[i], From: nodes[i].Owner, To: to})
		}
	}
	pinned := false
	for i := range f.Nodes {
		pinned = pinned || f.Nodes[i].Pinned
		f.Nodes[i].Pinned = false
	}
	if pinned {
		unsettled = !slices.Equal(owners, ring.Balance(f))
	}
	return moves, unsettled
}

func (r *Ring) fleet(nodes []RingNode) ring.Fleet {
	f := ring.Fleet{Covers: r.covers, Nodes: make([]ring.Node, len(nodes))}
	index, class := map[int64]int{}, map[int64]int{}
	for i, c := range r.Members {
		f.Members = append(f.Members, c.Hostname)
		index[c.ID] = i
	}
	for i, p := range r.Requirements {
		class[p.ID] = i
	}
	for i, n := range nodes {
		owner, known := index[n.Owner]
		if !known {
			owner = ring.None
		}
		f.Nodes[i] = ring.Node{Key: n.UUID, Class: class[n.Requirement], Owner: owner, Pinned: n.Pinned}
	}
	return f
}
