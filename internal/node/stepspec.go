package node

import (
	"cmp"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// StepSpec is a step that an implementation of an interface offers. What holds for every
// step of its name is in StepRule.
type StepSpec struct {
	Interface, Step string
	// Priority orders the steps that come by themselves; 0 = only when asked for.
	Priority  int
	Abortable bool
	Source    Source
	// NoRamdisk: it needs no agent, so it may run with disable_ramdisk.
	NoRamdisk bool
	// Core steps may be switched off by a request, but not moved.
	Core bool
	Args map[string]ArgSpec
}

// Name is "interface.step".
func (s StepSpec) Name() string { return s.Interface + "." + s.Step }

// ArgSpec describes an argument of a step (Ironic's argsinfo).
type ArgSpec struct {
	Required    bool
	Secret      bool // masked wherever a client or log sees it
	Description string
}

// restartsMost is how often a step is begun anew so: a server that loses its agent
// twice has more wrong with it.
const restartsMost = 1

// Restart has a step whose agent was lost begin anew with another boot, and
// reports whether the table of steps lets it; why goes into its note. A step of
// the agent that has given it nothing begins for the first time.
func (s *Step) Restart(why string) bool {
	first := s.Source == SourceAgent && s.Issued == nil
	if s.Restarts >= restartsMost || !first && !s.Rule().MayRestart {
		return false
	}
	s.Restarts++
	s.Restarting, s.Failures, s.Phase, s.Issued = true, 0, "", nil
	s.Note = "begun anew with another boot of the agent: " + why
	return true
}

// specsOf are the out-of-band steps of n's interfaces of a family, in the order in which
// they run by themselves.
func specsOf(n *Node, f Family) []StepSpec {
	var out []StepSpec
	for _, i := range Interfaces {
		for _, s := range n.Implementation(i).steps(f) {
			s.Interface, s.Source = i, SourceDriver
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b StepSpec) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(rank[b.Interface], rank[a.Interface]), cmp.Compare(a.Step, b.Step))
	})
	return out
}

// rank decides between steps of one priority; a higher one goes first
// (conductor/steps.py). Only these interfaces may have steps.
var rank = map[string]int{"vendor": 7, "power": 6, "management": 5, "firmware": 4, "deploy": 3, "bios": 2, "raid": 1}

// stepInterfaces are the keys of rank, as a message lists them.
const stepInterfaces = "vendor, power, management, firmware, deploy, bios, raid"

// checkArgs compares what was asked with what the step takes.
func checkArgs(f Family, s Step, args map[string]ArgSpec) error {
	var unexpected, missing []string
	for a := range s.Args {
		if _, ok := args[a]; !ok {
			unexpected = append(unexpected, text.Cut(a))
		}
	}
	for a, spec := range args {
		if _, ok := s.Args[a]; spec.Required && !ok {
			if spec.Description != "" {
				a += " (" + spec.Description + ")"
			}
			missing = append(missing, a)
		}
	}
	slices.Sort(unexpected)
	slices.Sort(missing)
	switch {
	case len(unexpected) > 0:
		return fault.New(fault.Invalid, "%s step %s has these unexpected arguments: %s", f, s.Name(), strings.Join(unexpected[:min(len(unexpected), 10)], ", "))
	case len(missing) > 0:
		return fault.New(fault.Invalid, "%s step %s is missing these required arguments: %s", f, s.Name(), strings.Join(missing, ", "))
	}
	return nil
}
