package explain

import (
	"fmt"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// console notes why clients can't use the serial console of the node although it is enabled. It keeps nothing else from going on.
func (e *Explanation) console(n *node.Node, c node.Console) {
	if !n.ConsoleEnabled || n.Implementation("console").Console == "" {
		return
	}
	words := ""
	switch {
	case c.Error != "":
		words = fmt.Sprintf("Its console failed at %s%s", text.Clock(*c.ErrorAt, e.now), text.Because(text.Clause(finding.Clean(c.Error))))
		if c.NextAt != nil && c.NextAt.After(e.now) {
			words += "; it is tried again about " + text.Clock(*c.NextAt, e.now)
		} else if c.Address != "" {
			words += "; it is tried again with the next client"
		}
	case c.Address == "":
		words = "Its console is enabled, and no conductor holds it yet"
	default:
		return
	}
	e.Notes = append(e.Notes, words)
	e.can(help.Action{Do: fault.ShowConsole})
}
