package ring

import (
	"cmp"
	"container/heap"
	"slices"
)

// circle is the ring itself: the places of members, by hash.
type circle struct {
	at  []uint64
	who []int
}

func (b *balance) circle(members []int) circle {
	type place struct {
		at  uint64
		who int
	}
	places := make([]place, 0, len(members)*points)
	for _, m := range members {
		h := mix(hash(b.names[m]))
		for range points {
			h = mix(h)
			places = append(places, place{h, m})
		}
	}
	slices.SortFunc(places, func(x, y place) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.who, y.who)) })
	c := circle{at: make([]uint64, len(places)), who: make([]int, len(places))}
	for i, p := range places {
		c.at[i], c.who[i] = p.at, p.who
	}
	return c
}

// next is the first member from a place on that has room; None if nobody has.
func (c circle) next(from uint64, room func(int) bool) int {
	start, _ := slices.BinarySearch(c.at, from)
	for i := range c.who {
		if m := c.who[(start+i)%len(c.who)]; room(m) {
			return m
		}
	}
	return None
}

// queue gives members by load, the emptiest first (sign 1) or the fullest
// (sign -1). Its entries may be old: each change of a load is put in again.
type queue struct {
	b       *balance
	sign    int
	entries []entry
}

type entry struct{ load, member int }

func (b *balance) byLoad(sign int) *queue {
	q := &queue{b: b, sign: sign}
	for m := range b.names {
		if b.serves[m] {
			q.entries = append(q.entries, entry{b.load[m], m})
		}
	}
	heap.Init(q)
	return q
}

// keep drops the members that pass does not let pass.
func (q *queue) keep(pass func(int) bool) {
	q.entries = slices.DeleteFunc(q.entries, func(e entry) bool { return !pass(e.member) })
	heap.Init(q)
}

func (q *queue) put(member int) { heap.Push(q, entry{q.b.load[member], member}) }

// first takes out the first member that fits, with what fits said of it; over
// says that no later one can. None if nobody fits.
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

// Less orders by load, and by name where it is the same.
func (q *queue) Less(i, j int) bool {
	x, y := q.entries[i], q.entries[j]
	return cmp.Or(q.sign*cmp.Compare(x.load, y.load), cmp.Compare(x.member, y.member)) < 0
}

// Swap swaps.
func (q *queue) Swap(i, j int) { q.entries[i], q.entries[j] = q.entries[j], q.entries[i] }

// Push adds at the end.
func (q *queue) Push(e any) { q.entries = append(q.entries, e.(entry)) }

// Pop takes from the end.
func (q *queue) Pop() any {
	last := q.entries[len(q.entries)-1]
	q.entries = q.entries[:len(q.entries)-1]
	return last
}
