package node

import (
	"cmp"
	"slices"
)

// StepSpec is a step that an implementation of an interface offers. The rules for all
// steps of its name are in StepRule.
type StepSpec struct {
	Interface, Step string
	// Priority orders the steps that run without being requested, the highest first; 0 = the step runs only if requested.
	Priority  int
	Abortable bool
	Source    Source
	// NoRamdisk: it needs no agent, so it may run with disable_ramdisk.
	NoRamdisk bool
	// A request may switch a core step off, but not change its priority.
	Core bool
	Args map[string]ArgSpec
}

// Name returns "interface.step".
func (s StepSpec) Name() string { return s.Interface + "." + s.Step }

// ArgSpec describes an argument of a step (Ironic's argsinfo).
type ArgSpec struct {
	Required    bool
	Secret      bool // masked in answers and logs
	Description string
	// Check returns what is wrong with a value; nil = any value will do. The step reads the argument by the same rule.
	Check func(v any) error `json:"-"`
}

// StepSpecs returns the out-of-band steps of a family that n's interfaces offer, in the
// order in which they run.
func (n *Node) StepSpecs(f Family) []StepSpec {
	var out []StepSpec
	for _, i := range Interfaces {
		for _, s := range n.Implementation(i).steps(f) {
			s.Interface, s.Source = i, SourceDriver
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b StepSpec) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(StepRank(b.Interface), StepRank(a.Interface)), cmp.Compare(a.Step, b.Step))
	})
	return out
}

// StepRank decides between steps of one priority: the step of the interface with the
// higher rank goes first (Ironic conductor/steps.py). It is 0 for an interface that has
// no steps.
func StepRank(iface string) int { return stepRanks[iface] }

var stepRanks = map[string]int{"vendor": 7, "power": 6, "management": 5, "firmware": 4, "deploy": 3, "bios": 2, "raid": 1}

// StepInterfaces lists the interfaces that may have steps, for messages.
const StepInterfaces = "vendor, power, management, firmware, deploy, bios, raid"
