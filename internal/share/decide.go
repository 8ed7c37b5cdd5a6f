package share

import "go.temper.dev/temper/internal/ring"

// Node is what counts of a node.
type Node struct {
	ID       int64
	UUID     string
	Group    string // conductor group, lower case
	Instance string // uuid; "" = the node is free
	Service  string // of the instance, as it was fixed at its claim; "" = none
	Held     Held
	Seen     bool // the published epoch knows group, instance and service as they are
}

// Held is where a node stands: with an owner, on its way to the next, or with nobody.
type Held struct {
	Owner int64 // service in whose share it is; 0 = none
	// Leaving is the service that it has left and that may still publish it; 0 =
	// none. While it is set there is no owner.
	Leaving  int64
	LeftIn   int64 // the epoch in which it left
	Entering int64 // who is to own it next; 0 = nobody
}

// heir is who owns the node or is about to.
func (h Held) heir() int64 {
	if h.Leaving != 0 {
		return h.Entering
	}
	return h.Owner
}

// Row is a node as the next epoch has it.
type Row struct {
	Node int // index in State.Nodes
	Held
}

// State is everything a decision is made from.
type State struct {
	Epoch    int64 // the published one
	Services []Service
	Nodes    []Node // in order of ID
}

// Decide gives the nodes that change with the next epoch. The same state
// gives the same rows. A node goes from one owner to another in two moves:
// it leaves one in an epoch, and enters the other when the first has
// acknowledged that epoch or its lease has ended.
func Decide(st State) []Row {
	s := Of(st.Services)
	var rows []Row
	for i, owner := range s.owners(st.Nodes) {
		have := st.Nodes[i].Held
		if next := s.step(have, owner, st.Epoch+1); next != have || !st.Nodes[i].Seen {
			rows = append(rows, Row{Node: i, Held: next})
		}
	}
	return rows
}

// step is the next move of a node towards its owner.
func (s *Split) step(h Held, owner, epoch int64) Held {
	switch {
	case h.Leaving == 0 && (h.Owner == owner || h.Owner == 0 || s.silent(h.Owner)):
		return Held{Owner: owner}
	case h.Leaving == 0:
		return Held{Leaving: h.Owner, LeftIn: epoch, Entering: owner}
	case h.Leaving == owner, s.released(h):
		return Held{Owner: owner} // back where it still may be published, or nowhere published
	}
	h.Entering = owner
	return h
}

// silent reports whether a service can't publish anything: it is gone, or its
// lease has ended.
func (s *Split) silent(id int64) bool {
	v := s.byID[id]
	return v == nil || !v.Live
}

// released reports whether the service that a node has left publishes it no more.
func (s *Split) released(h Held) bool {
	v := s.byID[h.Leaving]
	return s.silent(h.Leaving) || !v.Quiet && v.Acknowledged >= h.LeftIn
}

// owners are who should own each node; 0 = nobody. A node with an instance is
// its service's, whatever the rings say; the free ones of a partition are split
// among its members.
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
		s.spread(p, nodes, list, out)
	}
	return out
}

// spread gives the free nodes of a partition to its members by their ring: each
// stays where it is or is about to be, as far as the shares are even.
func (s *Split) spread(p Partition, nodes []Node, free []int, out []int64) {
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
		if owner, ok := at[nodes[n].Held.heir()]; ok {
			f.Nodes[i].Owner = owner
		}
	}
	for i, owner := range ring.Balance(f) {
		out[free[i]] = s.byName[members[owner]].ID
	}
}
