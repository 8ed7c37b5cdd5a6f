package intent

import (
	"cmp"
	"fmt"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/node"
)

// Command returns the command that does a to n. n may be nil if a needs no node.
func Command(n *node.Node, a explain.Action) string {
	label := ""
	if n != nil {
		label = cmp.Or(n.Name, n.UUID)
	}
	return "temper " + commands[a.Do](label, a)
}

// commands are the commands by what they do; label is the node's name or UUID.
var commands = map[explain.Do]func(label string, a explain.Action) string{
	explain.WatchOperation:   ofOperation("watch"),
	explain.CancelOperation:  ofOperation("cancel"),
	explain.UnpauseOperation: ofOperation("unpause"),
	explain.RetryOperation:   ofOperation("retry"),
	explain.Decide: func(_ string, a explain.Action) string {
		return fmt.Sprintf("operation %s %d", a.Decision, a.Operation)
	},
	explain.SayTemporalLost: func(string, explain.Action) string { return "operation recover --lost-temporal --reason WHY" },
	explain.ListConductors:  func(string, explain.Action) string { return "conductor list" },

	explain.RecoverNode:    ofNode("recover %s"),
	explain.TakeNode:       ofNode("recover %s --force --reason WHY"),
	explain.UnholdNode:     ofNode("unhold %s"),
	explain.EndMaintenance: ofNode("maintenance unset %s"),
	explain.WaiveUndo:      ofNode("waive %s --reason WHY"),
	explain.ChangeGroup: func(label string, a explain.Action) string {
		return "node set " + label + " --conductor-group " + cmp.Or(a.Group, `""`)
	},
	explain.ChangeState: func(label string, a explain.Action) string {
		verb := string(a.Event)
		if a.Event == node.EventDelete {
			verb = "undeploy"
		}
		return "node " + verb + " " + label
	},
}

func ofOperation(verb string) func(string, explain.Action) string {
	return func(_ string, a explain.Action) string { return fmt.Sprintf("operation %s %d", verb, a.Operation) }
}

func ofNode(format string) func(string, explain.Action) string {
	return func(label string, _ explain.Action) string { return "node " + fmt.Sprintf(format, label) }
}
