package inventory

import (
	"fmt"
	"slices"
	"strings"
)

// MaxChanges is how many changes are told.
const MaxChanges = 50

// Change is a difference between two inventories of one server.
type Change struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
	Before string `json:"before"` // "" = it was added
	After  string `json:"after"`  // "" = it is gone
}

// Changes are the differences between two inventories, at most MaxChanges, and how many there are more.
type Changes struct {
	List []Change `json:"list"`
	More int      `json:"more"`
}

// Compare returns what has changed from one inventory to the next. Only kinds of which both tell all parts are compared, and of the
// system only what both tell. A BMC and an agent describe the same part in different words. So if one inventory is from a BMC and
// the other from an agent, only serial numbers, versions and settings are compared, and which parts there are.
func Compare(before, after Parts) Changes {
	was, is := before.byKey(), after.byKey()
	all, same := []Change{}, before.fromBMC() == after.fromBMC()
	for _, p := range after.Parts {
		old, had := was[key{p.Kind, p.Name}]
		if both(before, after, p.Kind) && (had && old != p.String() && (same || !p.described()) || !had && p.Kind != System) {
			all = append(all, Change{Kind: p.Kind, Name: p.Name, Before: old, After: p.String()})
		}
	}
	for _, p := range before.Parts {
		if _, has := is[key{p.Kind, p.Name}]; !has && both(before, after, p.Kind) && p.Kind != System {
			all = append(all, Change{Kind: p.Kind, Name: p.Name, Before: p.String()})
		}
	}
	slices.SortStableFunc(all, func(a, b Change) int { return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind) })
	n := min(len(all), MaxChanges)
	return Changes{List: all[:n], More: len(all) - n}
}

// fromBMC reports whether the inventory is from a BMC. An agent lists no processors.
func (p Parts) fromBMC() bool { return slices.Contains(p.Told, Processor) }

// described reports whether p is described in words that depend on who tells it: Linux names an interface otherwise than a BMC.
func (p Part) described() bool {
	switch p.Kind {
	case System:
		return p.Name == "model" || p.Name == "processors" || p.Name == "memory"
	case Interface, Disk, GPU, PCIDevice:
		return true
	}
	return false
}

type key struct {
	kind Kind
	name string
}

func (p Parts) byKey() map[key]string {
	out := make(map[key]string, len(p.Parts))
	for _, one := range p.Parts {
		out[key{one.Kind, one.Name}] = one.String()
	}
	return out
}

// both reports whether both inventories list all parts of a kind. An inventory that was cut at MaxParts may lack parts of any kind.
func both(a, b Parts, k Kind) bool {
	return slices.Contains(a.Told, k) && slices.Contains(b.Told, k) && len(a.Parts) < MaxParts && len(b.Parts) < MaxParts
}

// String describes the change in a few words.
func (c Change) String() string {
	what := strings.ReplaceAll(string(c.Kind), "_", " ") + " "
	if c.Kind == System {
		what = ""
	}
	switch {
	case c.Before == "":
		return fmt.Sprintf("%s%s added (%s)", what, c.Name, c.After)
	case c.After == "":
		return fmt.Sprintf("%s%s gone (%s)", what, c.Name, c.Before)
	}
	return fmt.Sprintf("%s%s changed from %s to %s", what, c.Name, c.Before, c.After)
}

// toldInWords is how many changes a sentence has.
const toldInWords = 10

// String describes the changes in one line.
func (c Changes) String() string {
	var words []string
	for _, one := range c.List[:min(len(c.List), toldInWords)] {
		words = append(words, one.String())
	}
	if more := len(c.List) - len(words) + c.More; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, "; ")
}
