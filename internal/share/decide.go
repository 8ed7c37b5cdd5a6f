package share

import "go.temper.dev/temper/internal/ring"

// Node is the part of a node that matters for the split.
type Node struct {
	ID       int64
	UUID     string
	Group    string // conductor group, lower case
	Instance string // uuid; "" = the node is free
	Service  string // service of the instance, set when it was claimed; "" = none
	Held     Held
	Seen     bool // the published epoch has the current group, instance and service
}

// Held says which service has a node: its owner, none, or the service that it leaves for another.
type Held struct {
	Owner int64 // service in whose share it is; 0 = none
	// Leaving is the service whose share it has left and that may still publish it; 0 =
	// none. While it is set, there is no owner.
	Leaving  int64
	LeftIn   int64 // the epoch in which it left
	Entering int64 // the service that will own it next; 0 = none
}

// nextOwner returns the service that owns the node or will own it next.
func (h Held) nextOwner() int64 {
	if h.Leaving != 0 {
		return h.Entering
	}
	return h.Owner
}

// Row is a node in the next epoch.
type Row struct {
	Node int // index in State.Nodes
	Held
}

// State is the input of Decide.
type State struct {
	Epoch    int64 // the published one
	Services []Service
	Nodes    []Node // in order of ID
}

// Decide returns the nodes that change with the next epoch. The same state gives the same
// rows. A node changes its owner in two moves: in one epoch it leaves the old owner, and it
// enters the share of the new one when the old one has acknowledged that epoch or its lease has
// ended.
func Decide(st State) []Row {
	s := NewSplit(st.Services)
	var rows []Row
	for i, owner := range s.owners(st.Nodes) {
		have := st.Nodes[i].Held
		if next := s.nextHeld(have, owner, st.Epoch+1); next != have || !st.Nodes[i].Seen {
			rows = append(rows, Row{Node: i, Held: next})
		}
	}
	return rows
}

// nextHeld returns the next move of a node towards owner.
func (s *Split) nextHeld(h Held, owner, epoch int64) Held {
	switch {
	case h.Leaving == 0 && (h.Owner == owner || h.Owner == 0 || s.canNotPublish(h.Owner)):
		return Held{Owner: owner}
	case h.Leaving == 0:
		return Held{Leaving: h.Owner, LeftIn: epoch, Entering: owner}
	case h.Leaving == owner, s.released(h):
		return Held{Owner: owner} // it returns to the service that may still publish it, or no service publishes it
	}
	h.Entering = owner
	return h
}

// canNotPublish reports whether the service is gone or its lease has ended.
func (s *Split) canNotPublish(id int64) bool {
	v := s.byID[id]
	return v == nil || !v.Live
}

// released reports whether the service that the node has left can't publish it any more.
func (s *Split) released(h Held) bool {
	v := s.byID[h.Leaving]
	return s.canNotPublish(h.Leaving) || !v.Quiet && v.Acknowledged >= h.LeftIn
}

// owners returns the service that should own each node, 0 for none. A node with an instance
// belongs to the instance's service. The free nodes of a partition are split among its members.
func (s *Split) owners(nodes []Node) []int64 {
	out := make([]int64, len(nodes))
	free := map[Partition][]int{}
	partitions := map[string]Partition{} // by group
	for i := range nodes {
		n := &nodes[i]
		if n.Instance != "" {
			if v := s.byName[Fold(n.Service)]; v != nil && n.Service != "" {
				out[i] = v.ID
			}
			continue
		}
		p, ok := partitions[n.Group]
		if !ok {
			p = s.Partition(n.Group)
			partitions[n.Group] = p
		}
		free[p] = append(free[p], i)
	}
	for p, list := range free {
		s.assignFree(p, nodes, list, out)
	}
	return out
}

// assignFree splits the free nodes of a partition among its members. A node stays with its
// current or next owner as long as the shares are even (ring.Balance).
func (s *Split) assignFree(p Partition, nodes []Node, free []int, out []int64) {
	members := s.members[p]
	if len(members) == 0 {
		return
	}
	f := ring.Fleet{Members: members, Covers: [][]int{make([]int, len(members))}, Nodes: make([]ring.Node, len(free))}
	at := make(map[int64]int, len(members)) // by service
	for i, name := range members {
		f.Covers[0][i], at[s.byName[name].ID] = i, i
	}
	for i, n := range free {
		f.Nodes[i] = ring.Node{Key: nodes[n].UUID, Owner: ring.None}
		if owner, ok := at[nodes[n].Held.nextOwner()]; ok {
			f.Nodes[i].Owner = owner
		}
	}
	for i, owner := range ring.Balance(f) {
		out[free[i]] = s.byName[members[owner]].ID
	}
}
