package help

import (
	"slices"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// meanwhile are the remedies that somebody can use while an operation goes on. The node's fields can't be changed then.
var meanwhile = []fault.Do{fault.ProbeBMC, fault.ShowConsole, fault.ShowPorts}

// Remedies returns what mends the cause of a failure, where a command can, for n and the driver with which it failed.
func Remedies(n *node.Node, driver string, cause fault.Code) (out []Action) {
	for _, do := range cause.Row().Can {
		if fits(do, n, driver) {
			out = append(out, Action{Do: do})
		}
	}
	return out
}

// RemediesMeanwhile is Remedies without those that have to wait until the operation that goes on has ended.
func RemediesMeanwhile(n *node.Node, driver string, cause fault.Code) []Action {
	return slices.DeleteFunc(Remedies(n, driver, cause), func(a Action) bool { return !slices.Contains(meanwhile, a.Do) })
}

// fits reports whether somebody can do that with n, which has the driver.
func fits(do fault.Do, n *node.Node, driver string) bool {
	switch h, _ := node.Hardware(driver); do {
	case fault.ProbeBMC:
		return h.Probed
	case fault.ShowConsole:
		return n.ConsoleEnabled && n.Implementation("console").Console != ""
	}
	return true
}
