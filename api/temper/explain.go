package temper

import (
	"fmt"
	"strings"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
)

// shownWhy is an explanation as clients see it: with commands, and with its times as all
// answers have them.
type shownWhy struct {
	explain.Explanation
	Cause    any         `json:"cause"`    // null = nothing is known to keep it from going on
	Help     []help.Item `json:"help"`     // would be accepted now
	Commands []string    `json:"commands"` // those of Help
	Brief    []string    `json:"brief"`    // three lines: what, until when, the command
	Text     string      `json:"text"`     // all of it, one paragraph
	Sentence string      `json:"sentence"`
	// Since, Until, Seen and Progress belong to Sentence.
	Since    any        `json:"since"`
	Until    any        `json:"until"`
	Seen     any        `json:"seen"`
	Progress any        `json:"progress"`
	Power    shownPower `json:"power"`
	NextAt   any        `json:"next_at"`
}

// shownSeen is what was seen last.
type shownSeen struct {
	What string `json:"what"`
	At   any    `json:"at"`
}

// shownProgress is how much is done of what runs.
type shownProgress struct {
	Fraction float64  `json:"fraction"`
	Rate     *float64 `json:"rate"` // bytes a second
	EndsAt   any      `json:"ends_at"`
}

func seenOf(w *explain.StepWait) any {
	if w == nil || w.Seen == nil {
		return nil
	}
	return shownSeen{What: w.Seen.What, At: format.Timestamp(w.Seen.At)}
}

func progressOf(w *explain.StepWait) any {
	if w == nil || w.Fraction == nil {
		return nil
	}
	return shownProgress{Fraction: *w.Fraction, Rate: w.Rate, EndsAt: format.Timestamp(w.EndsAt)}
}

func explained(n *node.Node, f explain.Facts) shownWhy {
	w := shownWhy{Explanation: explain.Node(n, f), Help: []help.Item{}, Commands: []string{}}
	for _, a := range w.Actions {
		item := help.Of(n, a)
		w.Help, w.Commands = append(w.Help, item), append(w.Commands, item.Command)
	}
	if code := w.Explanation.Cause; code != "" {
		w.Cause = code
	}
	if s := w.Speedup; s != nil {
		w.Next = spedUp(n, w.Next, *s)
	}
	w.Text, w.Brief = w.Paragraph(w.Commands), w.Explanation.Brief(strings.Join(w.Commands[:min(len(w.Commands), 1)], ""))
	story := w.Story
	w.Sentence, w.Since, w.Until = story.Sentence, format.Timestamp(story.Since), format.Timestamp(story.Until)
	w.Seen, w.Progress, w.Power = seenOf(story.Wait), progressOf(story.Wait), powerOf(w.Explanation.Power)
	w.NextAt = format.Timestamp(w.Explanation.NextAt)
	return w
}

// spedUp appends to what happens next how it happens sooner.
func spedUp(n *node.Node, next string, a help.Action) string {
	return fmt.Sprintf("%s (%s)", next, help.Of(n, a).Sentence())
}
