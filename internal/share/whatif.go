package share

import (
	"cmp"
	"slices"
)

// Flow counts the nodes that would move from one service to another.
type Flow struct {
	From, To string // hosts; "" = nobody
	Nodes    int
}

// Change is a hypothetical change: the service Host has these settings, or is gone.
type Change struct {
	Host  string
	Key   *string
	Peers []string
	Gone  bool // it has stopped or died, and is still registered
}

// Apply returns the services after the change. A host that is not registered is added and live.
func (c Change) Apply(services []Service) []Service {
	out := slices.Clone(services)
	at := slices.IndexFunc(out, func(v Service) bool { return v.Name() == Fold(c.Host) })
	if at < 0 {
		id := int64(1)
		for _, v := range out {
			id = max(id, v.ID+1)
		}
		out, at = append(out, Service{ID: id, Host: c.Host}), len(out)
	}
	if out[at].Live = !c.Gone; !c.Gone {
		out[at].Key, out[at].Peers = c.Key, c.Peers
	}
	return out
}

// Flows returns which nodes would move, once every hand-over has ended.
func (s *Split) Flows(nodes []Node) []Flow {
	type way struct{ from, to int64 }
	count := map[way]int{}
	for i, owner := range s.owners(nodes) {
		if from := nodes[i].Held.nextOwner(); from != owner {
			count[way{from, owner}]++
		}
	}
	out := make([]Flow, 0, len(count))
	for w, n := range count {
		out = append(out, Flow{From: s.host(w.from), To: s.host(w.to), Nodes: n})
	}
	slices.SortFunc(out, func(a, b Flow) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return out
}

func (s *Split) host(id int64) string {
	if v := s.byID[id]; v != nil {
		return v.Host
	}
	return ""
}

// Partitions returns the partitions of the splits, Rest first.
func Partitions(splits ...*Split) []Partition {
	var out []Partition
	for _, s := range splits {
		for _, v := range s.services {
			if p := v.Partition(); !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	slices.SortFunc(out, func(a, b Partition) int {
		if a.Named != b.Named {
			if b.Named {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Group, b.Group)
	})
	return out
}
