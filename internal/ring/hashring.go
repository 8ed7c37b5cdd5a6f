package ring

import (
	"cmp"
	"container/heap"
	"slices"
)

// hashRing is the ring of consistent hashing: the virtual nodes, in the order of their hashes.
type hashRing struct {
	hashes  []uint64
	members []int
}

func (b *balance) hashRing(members []int) hashRing {
	type place struct {
		at  uint64
		who int
	}
	places := make([]place, 0, len(members)*virtualNodes)
	for _, m := range members {
		h := mix(hash(b.names[m]))
		for range virtualNodes {
			h = mix(h)
			places = append(places, place{h, m})
		}
	}
	slices.SortFunc(places, func(x, y place) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.who, y.who)) })
	c := hashRing{hashes: make([]uint64, len(places)), members: make([]int, len(places))}
	for i, p := range places {
		c.hashes[i], c.members[i] = p.at, p.who
	}
	return c
}

// next returns the first member from the hash on that has room, None if none has.
func (c hashRing) next(from uint64, room func(int) bool) int {
	start, _ := slices.BinarySearch(c.hashes, from)
	for i := range c.members {
		if m := c.members[(start+i)%len(c.members)]; room(m) {
			return m
		}
	}
	return None
}

// queue is a heap of members by load, the emptiest first (sign 1) or the fullest first
// (sign -1). A member whose load changes is put in again, and its old entry is skipped.
type queue struct {
	b       *balance
	sign    int
	entries []entry
}

type entry struct{ load, member int }

func (b *balance) byLoad(sign int) *queue {
	q := &queue{b: b, sign: sign}
	for m := range b.names {
		if b.coversAny[m] {
			q.entries = append(q.entries, entry{b.load[m], m})
		}
	}
	heap.Init(q)
	return q
}

// keep removes the members for which pass returns false.
func (q *queue) keep(pass func(int) bool) {
	q.entries = slices.DeleteFunc(q.entries, func(e entry) bool { return !pass(e.member) })
	heap.Init(q)
}

func (q *queue) put(member int) { heap.Push(q, entry{q.b.load[member], member}) }

// first removes and returns the first member that fits, with the class that fits returned. It
// stops at a member for which over returns true, because no later one can fit. It returns
// None if no member fits.
func (q *queue) first(fits func(int) (int, bool), over func(int) bool) (member, what int) {
	var passed []entry
	defer func() {
		for _, e := range passed {
			heap.Push(q, e)
		}
	}()
	for q.Len() > 0 {
		e := heap.Pop(q).(entry)
		if e.load != q.b.load[e.member] {
			continue // its load has changed since
		}
		if over(e.member) {
			passed = append(passed, e)
			break
		}
		if what, ok := fits(e.member); ok {
			return e.member, what
		}
		passed = append(passed, e)
	}
	return None, 0
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (q *queue) Len() int { return len(q.entries) }

// Less orders by load, then by name.
func (q *queue) Less(i, j int) bool {
	x, y := q.entries[i], q.entries[j]
	return cmp.Or(q.sign*cmp.Compare(x.load, y.load), cmp.Compare(x.member, y.member)) < 0
}

// Swap swaps two entries.
func (q *queue) Swap(i, j int) { q.entries[i], q.entries[j] = q.entries[j], q.entries[i] }

// Push adds at the end.
func (q *queue) Push(e any) { q.entries = append(q.entries, e.(entry)) }

// Pop takes from the end.
func (q *queue) Pop() any {
	last := q.entries[len(q.entries)-1]
	q.entries = q.entries[:len(q.entries)-1]
	return last
}
