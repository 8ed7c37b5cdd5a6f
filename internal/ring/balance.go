package ring

import (
	"cmp"
	"slices"
)

// Fleet is the input of Balance: the members, and the nodes to divide among them.
type Fleet struct {
	// Members are the members' names, each once. Their order does not matter.
	Members []string
	// Covers has, for each class of nodes, the indices of the members that can own them.
	Covers [][]int
	Nodes  []Node
}

// Node is a node of a Fleet.
type Node struct {
	Key    string // its uuid, whose hash is its position on the ring
	Class  int    // index in Covers
	Owner  int    // in the epoch before, as an index in Members; None = nobody, or a member that is gone
	Pinned bool   // an operation holds it, so it keeps its owner if that covers it
}

// None is no member.
const None = -1

// The bounds of a member's load, in percent of the mean, rounded to whole nodes.
const (
	maxPercent = 105
	minPercent = 95
)

// virtualNodes is how many positions each member has on the ring.
const virtualNodes = 64

// Balance returns the owner of each node, by its index in f.Nodes: a member that covers it, or
// None if no member does. It is consistent hashing with bounded load that starts from the
// owners of the epoch before:
//
//   - A node stays with an owner that covers it. So the loss of a member moves only its nodes.
//   - A node without an owner goes to the next member on the ring whose load is below the level
//     to which all such nodes together fill the members. So they spread over all members that
//     have room.
//   - A member below 95 % of the mean takes nodes from the fullest until it has the mean. A
//     member above 105 % gives nodes to the emptiest, newcomers first. So a new member moves
//     only what it takes.
//
// If members do not cover the same nodes, the bounds are kept as far as that is possible by
// moving single nodes from one member to another. The same fleet gives the same owners in
// every process.
func Balance(f Fleet) []int {
	b := newBalance(f)
	b.keepOwners()
	b.assignOrphans()
	b.fillUnderloaded()
	b.relieveOverloaded()
	return b.owner
}

// balance is the state of one computation. Members are in the order of their names, so that
// the result does not depend on their order in the Fleet.
type balance struct {
	nodes     []Node
	order     []int // nodes by hash
	hash      []uint64
	names     []string
	original  []int    // name index -> index in Fleet.Members
	index     []int    // the other way round
	covers    [][]bool // class, member
	members   [][]int  // class -> members
	owner     []int    // node -> index in Fleet.Members
	load      []int
	coversAny []bool    // covers any class
	newcomer  []bool    // had no node before
	movable   [][][]int // member, class -> nodes that are not pinned, a stack
	total     int       // nodes that a member covers
	serving   int       // members that cover any
}

func newBalance(f Fleet) *balance {
	b := &balance{nodes: f.Nodes, owner: make([]int, len(f.Nodes))}
	for i := range f.Members {
		b.original = append(b.original, i)
	}
	slices.SortFunc(b.original, func(x, y int) int { return cmp.Compare(f.Members[x], f.Members[y]) })
	b.index = make([]int, len(f.Members))
	for m, g := range b.original {
		b.names = append(b.names, f.Members[g])
		b.index[g] = m
	}
	b.coversAny = make([]bool, len(b.names))
	for _, who := range f.Covers {
		row := make([]bool, len(b.names))
		var list []int
		for _, g := range who {
			if m := b.index[g]; !row[m] {
				row[m], b.coversAny[m] = true, true
				list = append(list, m)
			}
		}
		slices.Sort(list)
		b.covers, b.members = append(b.covers, row), append(b.members, list)
	}
	for _, yes := range b.coversAny {
		if yes {
			b.serving++
		}
	}
	b.load, b.newcomer = make([]int, len(b.names)), make([]bool, len(b.names))
	b.movable = make([][][]int, len(b.names))
	for m := range b.names {
		b.newcomer[m] = true
		b.movable[m] = make([][]int, len(f.Covers))
	}
	b.hash = make([]uint64, len(f.Nodes))
	b.order = make([]int, len(f.Nodes))
	for i, n := range f.Nodes {
		b.order[i], b.hash[i] = i, mix(hash(n.Key))
	}
	slices.SortFunc(b.order, func(x, y int) int {
		return cmp.Or(cmp.Compare(b.hash[x], b.hash[y]), cmp.Compare(f.Nodes[x].Key, f.Nodes[y].Key))
	})
	return b
}

// keepOwners leaves every node with its owner that the owner covers.
func (b *balance) keepOwners() {
	for _, i := range b.order {
		n := b.nodes[i]
		b.owner[i] = None
		if len(b.members[n.Class]) == 0 {
			continue
		}
		b.total++
		if n.Owner == None {
			continue
		}
		m := b.index[n.Owner]
		b.newcomer[m] = false
		if b.covers[n.Class][m] {
			b.assign(i, m)
		}
	}
}

func (b *balance) assign(node, member int) {
	b.owner[node] = b.original[member]
	b.load[member]++
	if n := b.nodes[node]; !n.Pinned {
		b.movable[member][n.Class] = append(b.movable[member][n.Class], node)
	}
}

// assignOrphans gives each node without an owner to the next member on the ring that is below
// the fill level.
func (b *balance) assignOrphans() {
	var orphans []int
	for _, i := range b.order {
		if b.owner[i] == None && len(b.members[b.nodes[i].Class]) > 0 {
			orphans = append(orphans, i)
		}
	}
	if len(orphans) == 0 {
		return
	}
	level := b.fillLevel(len(orphans))
	// Fill up to one below the level first, so that the last round adds at most one node to a member.
	low := 0
	for m, yes := range b.coversAny {
		if yes {
			low += max(0, level-1-b.load[m])
		}
	}
	rings := make([]hashRing, len(b.members))
	for _, i := range orphans {
		class := b.nodes[i].Class
		if rings[class].hashes == nil {
			rings[class] = b.hashRing(b.members[class])
		}
		m := None
		if low > 0 {
			m = rings[class].next(b.hash[i], func(m int) bool { return b.load[m] < level-1 })
			low--
		}
		if m == None {
			m = rings[class].next(b.hash[i], func(m int) bool { return b.load[m] < level })
		}
		if m == None {
			m = slices.MinFunc(b.members[class], func(x, y int) int { return cmp.Compare(b.load[x], b.load[y]) })
		}
		b.assign(i, m)
	}
}

// fillLevel returns the load to which the members must be filled to take so many more nodes.
func (b *balance) fillLevel(more int) int {
	var loads []int
	for m, yes := range b.coversAny {
		if yes {
			loads = append(loads, b.load[m])
		}
	}
	slices.Sort(loads)
	below := 0
	for i, l := range loads {
		below += l
		// Filled evenly, the i+1 emptiest must not exceed the next one.
		level := (below + more + i) / (i + 1)
		if i+1 == len(loads) || level <= loads[i+1] {
			return level
		}
	}
	return 0
}

// mean returns the mean load, rounded down and up.
func (b *balance) mean() (down, up int) {
	return b.total / b.serving, (b.total + b.serving - 1) / b.serving
}

// fillUnderloaded moves nodes from the fullest members to those that have much less than the mean.
func (b *balance) fillUnderloaded() {
	if b.serving < 2 || b.total == 0 {
		return
	}
	down, _ := b.mean()
	least := min(down, (b.total*minPercent+100*b.serving-1)/(100*b.serving))
	full := b.byLoad(-1)
	for m := range b.names {
		if b.load[m] >= least || !b.coversAny[m] {
			continue
		}
		for b.load[m] < down {
			donor, class := full.first(func(a int) (int, bool) {
				if b.load[a] < b.load[m]+2 {
					return 0, false
				}
				return b.movableTo(a, m)
			}, func(a int) bool { return b.load[a] < b.load[m]+2 })
			if donor == None {
				break
			}
			b.move(donor, m, class)
			full.put(donor)
		}
		full.put(m)
	}
}

// relieveOverloaded moves nodes from members that have much more than the mean: to newcomers
// first, then to the emptiest.
func (b *balance) relieveOverloaded() {
	if b.serving < 2 || b.total == 0 {
		return
	}
	_, up := b.mean()
	most := max(up, b.total*maxPercent/(100*b.serving))
	novices, others := b.byLoad(1), b.byLoad(1)
	novices.keep(func(m int) bool { return b.newcomer[m] })
	for a := range b.names {
		if b.load[a] <= most {
			continue
		}
		for b.load[a] > up {
			to, class := b.receiver(a, most, novices, others)
			if to == None {
				break
			}
			b.move(a, to, class)
			others.put(to)
			if b.newcomer[to] {
				novices.put(to)
			}
		}
		others.put(a)
	}
}

// receiver removes from the queues the member to which a gives its next node.
func (b *balance) receiver(a, most int, novices, others *queue) (to, class int) {
	fits := func(m int) (int, bool) {
		if b.load[a] < b.load[m]+2 {
			return 0, false
		}
		return b.movableTo(a, m)
	}
	to, class = novices.first(fits, func(m int) bool { return b.load[m] >= most })
	if to == None {
		to, class = others.first(fits, func(m int) bool { return b.load[a] < b.load[m]+2 })
	}
	return to, class
}

// movableTo returns a class of which a has a node that may move to the member to.
func (b *balance) movableTo(a, to int) (class int, ok bool) {
	if a == to {
		return 0, false
	}
	for class, nodes := range b.movable[a] {
		if len(nodes) > 0 && b.covers[class][to] {
			return class, true
		}
	}
	return 0, false
}

func (b *balance) move(from, to, class int) {
	stack := b.movable[from][class]
	node := stack[len(stack)-1]
	b.movable[from][class] = stack[:len(stack)-1]
	b.load[from]--
	b.assign(node, to)
}
