package ring

import (
	"cmp"
	"slices"
)

// Fleet is one ring: the members, and the nodes that are shared out among them.
type Fleet struct {
	// Members, each once; their order does not matter.
	Members []string
	// Covers says of each class of nodes which members (by index) can own them.
	Covers [][]int
	Nodes  []Node
}

// Node is a node as the ring sees it.
type Node struct {
	Key    string // its uuid: decides where an orphan goes
	Class  int    // index in Covers
	Owner  int    // of the epoch before, by index in Members; None = nobody, or nobody who is left
	Pinned bool   // under an operation: it keeps an owner that covers it
}

// None is no member.
const None = -1

// The bounds of a share, in percent of the mean; a whole node is the least step.
const (
	mostPercent  = 105
	leastPercent = 95
)

// points is how many places each member has on the ring.
const points = 64

// Balance gives each node's owner, by its index in f.Nodes: one that covers it,
// or None where nobody does. It is consistent hashing with bounded load, with the
// epoch before as the place where each node begins:
//
//   - a node stays with an owner that covers it; so losing one member moves only
//     its nodes;
//   - an orphan goes to the next member on the ring whose share is below the level
//     that all orphans together fill up, so they spread over all that have room;
//   - a member below 95 % of the mean takes nodes from the fullest until it has
//     the mean, and one above 105 % gives to the emptiest, newcomers first; so
//     adding one moves only what it takes.
//
// Where members do not cover the same nodes, the bounds are kept as far as moves
// of one node from one member to another can keep them. The same fleet gives the
// same owners in every process.
func Balance(f Fleet) []int {
	b := newBalance(f)
	b.keep()
	b.adopt()
	b.raise()
	b.lower()
	return b.owner
}

// balance is a Fleet in work. Members are in the order of their names, so that
// nothing depends on the order they came in.
type balance struct {
	nodes   []Node
	order   []int // nodes by hash
	hash    []uint64
	names   []string
	given   []int    // name index -> index in Fleet.Members
	index   []int    // the other way round
	covers  [][]bool // class, member
	members [][]int  // class -> members
	owner   []int    // node -> index in Fleet.Members
	load    []int
	serves  []bool    // covers any class
	novice  []bool    // had no node before
	movable [][][]int // member, class -> nodes that are not pinned, a stack
	total   int       // nodes that somebody covers
	serving int       // members that cover any
}

func newBalance(f Fleet) *balance {
	b := &balance{nodes: f.Nodes, owner: make([]int, len(f.Nodes))}
	for i := range f.Members {
		b.given = append(b.given, i)
	}
	slices.SortFunc(b.given, func(x, y int) int { return cmp.Compare(f.Members[x], f.Members[y]) })
	b.index = make([]int, len(f.Members))
	for m, g := range b.given {
		b.names = append(b.names, f.Members[g])
		b.index[g] = m
	}
	b.serves = make([]bool, len(b.names))
	for _, who := range f.Covers {
		row := make([]bool, len(b.names))
		var list []int
		for _, g := range who {
			if m := b.index[g]; !row[m] {
				row[m], b.serves[m] = true, true
				list = append(list, m)
			}
		}
		slices.Sort(list)
		b.covers, b.members = append(b.covers, row), append(b.members, list)
	}
	for _, yes := range b.serves {
		if yes {
			b.serving++
		}
	}
	b.load, b.novice = make([]int, len(b.names)), make([]bool, len(b.names))
	b.movable = make([][][]int, len(b.names))
	for m := range b.names {
		b.novice[m] = true
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

// keep leaves every node where it is that can stay there.
func (b *balance) keep() {
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
		b.novice[m] = false
		if b.covers[n.Class][m] {
			b.give(i, m)
		}
	}
}

func (b *balance) give(node, member int) {
	b.owner[node] = b.given[member]
	b.load[member]++
	if n := b.nodes[node]; !n.Pinned {
		b.movable[member][n.Class] = append(b.movable[member][n.Class], node)
	}
}

// adopt gives each orphan to the next member on the ring that is below the level.
func (b *balance) adopt() {
	var orphans []int
	for _, i := range b.order {
		if b.owner[i] == None && len(b.members[b.nodes[i].Class]) > 0 {
			orphans = append(orphans, i)
		}
	}
	if len(orphans) == 0 {
		return
	}
	level := b.level(len(orphans))
	// One below it first: the last round then adds at most one node to anybody.
	low := 0
	for m, yes := range b.serves {
		if yes {
			low += max(0, level-1-b.load[m])
		}
	}
	rings := make([]circle, len(b.members))
	for _, i := range orphans {
		class := b.nodes[i].Class
		if rings[class].at == nil {
			rings[class] = b.circle(b.members[class])
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
		b.give(i, m)
	}
}

// level is the load up to which members must be filled to hold so many more.
func (b *balance) level(more int) int {
	var loads []int
	for m, yes := range b.serves {
		if yes {
			loads = append(loads, b.load[m])
		}
	}
	slices.Sort(loads)
	below := 0
	for i, l := range loads {
		below += l
		// The i+1 emptiest, filled evenly, must reach no higher than the next.
		level := (below + more + i) / (i + 1)
		if i+1 == len(loads) || level <= loads[i+1] {
			return level
		}
	}
	return 0
}

// mean is the mean load, rounded down and up.
func (b *balance) mean() (down, up int) {
	return b.total / b.serving, (b.total + b.serving - 1) / b.serving
}

// raise brings members that have far less than the mean up to it, from the fullest.
func (b *balance) raise() {
	if b.serving < 2 || b.total == 0 {
		return
	}
	down, _ := b.mean()
	least := min(down, (b.total*leastPercent+100*b.serving-1)/(100*b.serving))
	full := b.byLoad(-1)
	for m := range b.names {
		if b.load[m] >= least || !b.serves[m] {
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

// lower takes from members that have far more than the mean: newcomers are
// filled first, then the emptiest.
func (b *balance) lower() {
	if b.serving < 2 || b.total == 0 {
		return
	}
	_, up := b.mean()
	most := max(up, b.total*mostPercent/(100*b.serving))
	novices, others := b.byLoad(1), b.byLoad(1)
	novices.keep(func(m int) bool { return b.novice[m] })
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
			if b.novice[to] {
				novices.put(to)
			}
		}
		others.put(a)
	}
}

// receiver takes out of the queues the member that a gives to next.
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

// movableTo is a class of which a has a node that to could own.
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
	b.give(node, to)
}
