package coverage

import (
	"slices"
)

// Without returns the fleet without these conductors.
func Without(f *Fleet, hosts []string) *Fleet {
	out := *f
	out.Members = slices.DeleteFunc(slices.Clone(f.Members), func(c Conductor) bool { return slices.Contains(hosts, c.Hostname) })
	return &out
}

// WhatIf collects what the next epochs would change.
type WhatIf struct {
	Moves       []Move // from one conductor to another
	Quarantined []Move // nodes that no conductor would cover; To is 0
}

// Add adds the moves of one ring's nodes when the ring changes from now to then. It does not
// count nodes that would move anyway because the ring is out of date.
func (w *WhatIf) Add(now, then *Ring, nodes []RingNode) {
	at := map[int64]int{}
	for i, n := range nodes {
		at[n.ID] = i
	}
	moves, _ := now.Next(nodes)
	for _, m := range moves {
		nodes[at[m.Node.ID]].Owner = m.To
	}
	moves, _ = then.Next(nodes)
	for _, m := range moves {
		if m.To == 0 {
			w.Quarantined = append(w.Quarantined, m)
		} else {
			w.Moves = append(w.Moves, m)
		}
	}
}
