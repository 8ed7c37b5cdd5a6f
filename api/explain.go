package api

import (
	"cmp"
	"fmt"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/node"
)

// shownWhy is an explanation as clients see it: with commands, and with its times as all
// answers have them.
type shownWhy struct {
	explain.Explanation
	Commands []string `json:"commands"` // would be accepted now
	Text     string   `json:"text"`     // all of it, one paragraph
	Since    any      `json:"since"`
	NextAt   any      `json:"next_at"`
}

func explained(n *node.Node, f explain.Facts) shownWhy {
	w := shownWhy{Explanation: explain.Node(n, f), Commands: []string{}}
	for _, a := range w.Actions {
		w.Commands = append(w.Commands, command(n, a))
	}
	if s := w.Speedup; s != nil {
		w.Next = spedUp(n, w.Next, *s)
	}
	w.Text = w.Paragraph(w.Commands)
	w.Since, w.NextAt = timestamp(w.Explanation.Since), timestamp(w.Explanation.NextAt)
	return w
}

// spedUp appends to what happens next how it happens sooner.
func spedUp(n *node.Node, next string, s explain.Speedup) string {
	return fmt.Sprintf("%s (%q %s)", next, command(n, s.Action), s.Effect)
}

// command returns the command that does a to n. n may be nil if a needs no node.
func command(n *node.Node, a explain.Action) string {
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
