package watch

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// liveView draws a picture on a terminal, each time over the one before.
type liveView struct {
	out    io.Writer
	now    func() time.Time
	fit    func(string) string // of commands
	size   func() (width, height int)
	colour bool
	drawn  int // lines of the picture before
}

func (v *liveView) update(all []*Target) {
	width, height := v.size()
	lines := picture(all, v.now(), max(height-1, 2))
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	b.WriteString("\r\x1b[J")
	for _, l := range lines {
		l.text = v.fit(l.text)
		b.WriteString(l.render(width, v.colour) + "\n")
	}
	v.drawn = len(lines)
	_, _ = io.WriteString(v.out, b.String()) // if the terminal is gone, SIGHUP ends the program
}

// interrupt leaves the picture where it is: the next one is drawn below what somebody else writes.
func (v *liveView) interrupt() { v.drawn = 0 }

// line is a line of the picture.
type line struct {
	mark  string // one character
	text  string // plain
	paint text.Color
}

func (l line) render(width int, colour bool) string {
	s := text.Trim(l.mark+" "+l.text, width-1)
	if colour && l.paint != 0 {
		return fmt.Sprintf("\x1b[%dm%s\x1b[0m", int(l.paint), s)
	}
	return s
}

// picture shows one operation with its steps, or several with a line for each, in at most so many lines.
func picture(all []*Target, now time.Time, most int) []line {
	if len(all) == 1 {
		return withSteps(all[0], now, most)
	}
	return summary(all, now, most)
}

func withSteps(t *Target, now time.Time, most int) []line {
	head := operationLine(t, now)
	o := t.Op
	if o == nil {
		return []line{head}
	}
	var tail []line
	if o.Error != "" {
		tail = append(tail, line{mark: " ", text: table.OneLine(o.Error), paint: text.FgRed})
	}
	// If there is no room for all, the steps around the current one are shown.
	if o.StepWait != nil {
		most--
	}
	room := max(most-1-len(tail), 1)
	from := 0
	if at := o.Current(); at != nil && len(o.Steps) > room {
		from = min(max(at.Index-room/2, 0), len(o.Steps)-room)
	}
	lines := []line{head}
	for _, s := range o.Steps[from:min(from+room, len(o.Steps))] {
		lines = append(lines, stepLine(o, s, now))
		if at := o.Current(); at != nil && at.Index == s.Index && o.StepWait != nil {
			lines = append(lines, line{mark: "   ", text: table.OneLine(o.StepWait.Sentence), paint: text.Faint})
		}
	}
	return append(lines, tail...)
}

func operationLine(t *Target, now time.Time) line {
	o := t.Op
	if o == nil {
		l := line{mark: "·", text: table.OneLine(t.unread())}
		if t.Err != nil {
			l.mark, l.paint = "✗", text.FgRed
		}
		return l
	}
	state := State(o)
	if t.Done && exit.Code(t.Err) == exit.CodeHeld { // the error of the command says the rest
		state = "held"
	}
	l := line{text: table.OneLine(fmt.Sprintf("%s  %s %s  %s  %s", t.Name, o.Kind, o.ID, state, table.Elapsed(o.AcceptedAt, o.EndedAt, now)))}
	switch {
	case !o.Ended():
		l.mark, l.paint = "▸", text.FgYellow
		if o.WaitingUntil != nil {
			l.text += ", until " + table.Time(o.WaitingUntil) + table.Optional(", then ", o.AtLimit)
		}
	case o.Outcome == client.Succeeded:
		l.mark, l.paint = "✓", text.FgGreen
	default:
		l.mark, l.paint = "✗", text.FgRed
	}
	return l
}

// stepMarks are the mark and colour for each state of a step.
var stepMarks = map[node.StepState]line{
	node.StepPending:   {mark: "·", paint: text.Faint},
	node.StepRunning:   {mark: "▸", paint: text.FgYellow},
	node.StepWaiting:   {mark: "▸", paint: text.FgYellow},
	node.StepCancelled: {mark: "✗", paint: text.Faint},
	node.StepDone:      {mark: "✓", paint: text.FgGreen},
	node.StepFailed:    {mark: "✗", paint: text.FgRed},
	node.StepSkipped:   {mark: "-", paint: text.Faint},
}

func stepLine(o *client.Operation, s client.Step, now time.Time) line {
	l := stepMarks[node.StepState(s.State)]
	parts := []string{fmt.Sprintf("%-34s", s.Name())}
	for _, part := range []string{s.Conductor, StepDuration(o, s, now), Tries(s), unlessTold(s.LastError, o.Error, waitSentence(o))} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	l.mark, l.text = "  "+l.mark, table.OneLine(strings.Join(parts, "  "))
	return l
}

// summary has a line for each operation, and a count. Those that failed come first, then those under way.
func summary(all []*Target, now time.Time, most int) []line {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *Target) int { return cmp.Compare(urgency(a), urgency(b)) })
	counts := map[string]int{}
	for _, t := range all {
		counts[category(t)]++
	}
	var lines []line
	for i, t := range sorted {
		if len(lines) == most-2 && i < len(sorted)-1 {
			lines = append(lines, line{mark: " ", text: fmt.Sprintf("and %d more", len(sorted)-i)})
			break
		}
		l := operationLine(t, now)
		if t.Op != nil && !t.Op.Ended() {
			if s := t.Op.Current(); s != nil {
				l.text = table.OneLine(fmt.Sprintf("%s  %d/%d %s  %s", l.text, s.Index+1, len(t.Op.Steps), s.Name(), table.Clause(s.LastError)))
			}
		} else if t.Err != nil && t.Op != nil {
			l.text = table.OneLine(l.text + "  " + table.Clause(t.Op.Error))
		}
		lines = append(lines, l)
	}
	var words []string
	for _, w := range []string{"under way", "succeeded", "failed"} {
		if counts[w] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[w], w))
		}
	}
	return append(lines, line{mark: " ", text: strings.Join(words, ", ")})
}

func category(t *Target) string {
	switch {
	case !t.Done:
		return "under way"
	case t.Err != nil:
		return "failed"
	}
	return "succeeded"
}

// urgency is the order of the lines in a summary.
func urgency(t *Target) int {
	return map[string]int{"failed": 0, "under way": 1, "succeeded": 2}[category(t)]
}
