package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/text"
)

// maxFacts is how many facts an inventory has at most.
const maxFacts = 64

// Facts returns what can be compared with other servers of the same kind: names of facts, and values in which equal servers are
// equal. Serial numbers, addresses and asset tags are left out.
func (p Parts) Facts() map[string]string {
	facts := map[string]string{}
	groups := map[Kind][]string{}
	for _, one := range p.Parts {
		switch one.Kind {
		case System:
			if one.Name != "serial number" && one.Name != "asset tag" {
				facts[one.Name] = one.Is
			}
		case Firmware:
			if len(facts) < maxFacts {
				facts["firmware "+one.Name] = one.Is
			}
		default:
			groups[one.Kind] = append(groups[one.Kind], cmp.Or(one.Is, "present"))
		}
	}
	for kind, name := range map[Kind]string{Processor: "processor sockets", Memory: "memory modules", Disk: "disks", GPU: "GPUs", PCIDevice: "PCI devices"} {
		if slices.Contains(p.Told, kind) {
			facts[name] = text.TruncateRunes(counted(groups[kind]), maxIs)
		}
	}
	if slices.Contains(p.Told, Interface) {
		facts["interfaces"] = fmt.Sprint(len(groups[Interface]))
	}
	return facts
}

// counted returns the values with how often there is each: "15 × 32 GiB DDR5, 1 × 64 GiB DDR5".
func counted(values []string) string {
	if len(values) == 0 {
		return "none"
	}
	count := map[string]int{}
	for _, v := range values {
		count[v]++
	}
	var out []string
	for _, v := range slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) }) {
		out = append(out, fmt.Sprintf("%d × %s", count[v], v))
	}
	return strings.Join(out, ", ")
}

// Value is how many of some servers have a value of a fact.
type Value struct {
	Fact    string
	Value   string
	Servers int // that have this value
	Of      int // that have any value of the fact
}

// minSiblings is how many servers make something usual.
const minSiblings = 2

// Difference is a fact in which a server differs from most servers of its kind.
type Difference struct {
	Fact    string
	Here    string
	Usual   string
	Servers int // that have the usual value
	Of      int // that were compared in this fact
}

// Differences returns in which facts a server differs from what most others have. values has the most frequent value of each fact.
func Differences(facts map[string]string, values []Value) []Difference {
	out := []Difference{}
	for _, v := range values {
		here, ok := facts[v.Fact]
		if ok && here != v.Value && v.Servers >= minSiblings && 2*v.Servers > v.Of {
			out = append(out, Difference{Fact: v.Fact, Here: here, Usual: v.Value, Servers: v.Servers, Of: v.Of})
		}
	}
	slices.SortFunc(out, func(a, b Difference) int { return cmp.Compare(a.Fact, b.Fact) })
	return out
}
