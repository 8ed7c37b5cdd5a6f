package temper

import (
	"fmt"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/help"
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
		w.Commands = append(w.Commands, help.Command(n, a))
	}
	if s := w.Speedup; s != nil {
		w.Next = spedUp(n, w.Next, *s)
	}
	w.Text = w.Paragraph(w.Commands)
	w.Since, w.NextAt = format.Timestamp(w.Explanation.Since), format.Timestamp(w.Explanation.NextAt)
	return w
}

// spedUp appends to what happens next how it happens sooner.
func spedUp(n *node.Node, next string, a explain.Action) string {
	return fmt.Sprintf("%s (%s)", next, help.Of(n, a).Sentence())
}
