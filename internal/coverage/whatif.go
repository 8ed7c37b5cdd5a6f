package coverage

import (
	"slices"
)

// Without is the fleet as it would be if these conductors were gone.
func Without(f *Fleet, hosts []string) *Fleet {
	out := *f
	out.Members = slices.DeleteFunc(slices.Clone(f.Members), func(c Conductor) bool { return slices.Contains(hosts, c.Hostname) })
	return &out
}

// WhatIf is what the next epochs would do.
type WhatIf struct {
	Moves       []Move // from one conductor to another
	Quarantined []Move // to nobody: nobody would cover them
}

// Add computes what happens to the nodes of one ring when now becomes then: what
// would move anyhow, because the ring is not up to date, is no part of it.
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
