package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"go.temper.dev/temper/internal/client"
)

// view shows how operations go on.
type view interface {
	update([]*pursuit)
}

// view is the one that fits: nothing unless watching, a picture on a terminal, lines elsewhere. Where the answer is to be
// JSON or YAML, the lines go to standard error.
func (a *asker) view(watching bool) view {
	switch {
	case !watching:
		return noView{}
	case a.format != asTable:
		return &lineView{out: a.err, last: map[*pursuit]string{}}
	}
	if f, ok := a.out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &liveView{out: a.out, now: a.now, colour: os.Getenv("NO_COLOR") == "", size: func() (int, int) {
			w, h, err := term.GetSize(int(f.Fd()))
			if err != nil || w <= 0 || h <= 0 {
				return 80, 24
			}
			return w, h
		}}
	}
	return &lineView{out: a.out, last: map[*pursuit]string{}}
}

type noView struct{}

func (noView) update([]*pursuit) {}

// lineView writes a line for every change.
type lineView struct {
	out  io.Writer
	last map[*pursuit]string
}

func (v *lineView) update(all []*pursuit) {
	for _, p := range all {
		line := changeOf(p)
		if line != v.last[p] {
			v.last[p] = line
			fmt.Fprintln(v.out, line)
		}
	}
}

// changeOf is one operation in a line, without times, so that it changes only with the operation.
func changeOf(p *pursuit) string {
	o := p.op
	if o == nil {
		return oneLine(p.name) + ": " + cmp.Or(p.state, "asked")
	}
	line := fmt.Sprintf("%s: %s %s %s", p.name, o.Kind, o.ID, stateOf(o))
	if o.Ended() {
		return oneLine(line + words(": ", trimmed(o.Error)))
	}
	if s := o.Current(); s != nil {
		line += fmt.Sprintf(", step %d of %d: %s", s.Index+1, len(o.Steps), s.Name())
		if s.State != "pending" {
			line += words(" on ", s.Conductor)
		}
		if s.Attempts > 1 {
			line += fmt.Sprintf(", attempt %d", s.Attempts)
		}
		line += words(" after ", trimmed(s.LastError))
	}
	if o.WaitingUntil != nil {
		line += ", until " + moment(o.WaitingUntil)
	}
	return oneLine(line)
}

// liveView draws the same place of a terminal again and again.
type liveView struct {
	out    io.Writer
	now    func() time.Time
	size   func() (width, height int)
	colour bool
	drawn  int // lines
}

func (v *liveView) update(all []*pursuit) {
	width, height := v.size()
	lines := picture(all, v.now(), max(height-1, 2))
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	b.WriteString("\r\x1b[J")
	for _, l := range lines {
		b.WriteString(l.render(width, v.colour) + "\n")
	}
	v.drawn = len(lines)
	_, _ = io.WriteString(v.out, b.String()) // a terminal that is gone ends the program by itself
}

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

// picture shows one operation with its steps, several a line each, in at most so many lines.
func picture(all []*pursuit, now time.Time, most int) []line {
	if len(all) == 1 {
		return withSteps(all[0], now, most)
	}
	return summary(all, now, most)
}

func withSteps(p *pursuit, now time.Time, most int) []line {
	head := operationLine(p, now)
	o := p.op
	if o == nil {
		return []line{head}
	}
	var tail []line
	if o.Error != "" {
		tail = append(tail, line{mark: " ", text: oneLine(o.Error), paint: text.FgRed})
	}
	// Where there is no room for all, the steps around the present one are shown.
	room := max(most-1-len(tail), 1)
	from := 0
	if at := o.Current(); at != nil && len(o.Steps) > room {
		from = min(max(at.Index-room/2, 0), len(o.Steps)-room)
	}
	lines := []line{head}
	for _, s := range o.Steps[from:min(from+room, len(o.Steps))] {
		lines = append(lines, stepLine(o, s, now))
	}
	return append(lines, tail...)
}

func operationLine(p *pursuit, now time.Time) line {
	o := p.op
	if o == nil {
		return line{mark: "·", text: oneLine(p.name + ": " + cmp.Or(p.state, "asked"))}
	}
	l := line{text: oneLine(fmt.Sprintf("%s  %s %s  %s  %s", p.name, o.Kind, o.ID, stateOf(o), between(o.AcceptedAt, o.EndedAt, now)))}
	switch {
	case !o.Ended():
		l.mark, l.paint = "▸", text.FgYellow
		if o.WaitingUntil != nil {
			l.text += ", until " + moment(o.WaitingUntil)
		}
	case o.Outcome == client.Succeeded:
		l.mark, l.paint = "✓", text.FgGreen
	default:
		l.mark, l.paint = "✗", text.FgRed
	}
	return l
}

// stepMarks are the marks of the states of steps.
var stepMarks = map[string]line{
	"pending": {mark: "·", paint: text.Faint}, "running": {mark: "▸", paint: text.FgYellow}, "waiting": {mark: "▸", paint: text.FgYellow},
	"cancelled": {mark: "✗", paint: text.Faint}, "done": {mark: "✓", paint: text.FgGreen}, "failed": {mark: "✗", paint: text.FgRed}, "skipped": {mark: "-", paint: text.Faint},
}

func stepLine(o *client.Operation, s client.Step, now time.Time) line {
	l := stepMarks[s.State]
	parts := []string{fmt.Sprintf("%-34s", s.Name())}
	for _, part := range []string{s.Conductor, stepTook(o, s, now), attempts(s.Attempts), trimmed(s.LastError)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	l.mark, l.text = "  "+l.mark, oneLine(strings.Join(parts, "  "))
	return l
}

// stepTook is how long a step ran: one that was cut off, no longer than its operation. Of one that has failed and holds,
// nobody has noted it.
func stepTook(o *client.Operation, s client.Step, now time.Time) string {
	if s.State == "failed" && s.EndedAt == nil && o.EndedAt == nil {
		return ""
	}
	return between(s.StartedAt, cmp.Or(s.EndedAt, o.EndedAt), now)
}

func attempts(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%d attempts", n)
}

// summary is a line for each operation, those first that need a look, and a count.
func summary(all []*pursuit, now time.Time, most int) []line {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *pursuit) int { return cmp.Compare(urgency(a), urgency(b)) })
	counts := map[string]int{}
	for _, p := range all {
		counts[countAs(p)]++
	}
	var lines []line
	for i, p := range sorted {
		if len(lines) == most-2 && i < len(sorted)-1 {
			lines = append(lines, line{mark: " ", text: fmt.Sprintf("and %d more", len(sorted)-i)})
			break
		}
		l := operationLine(p, now)
		if p.op != nil && !p.op.Ended() {
			if s := p.op.Current(); s != nil {
				l.text = oneLine(fmt.Sprintf("%s  %d/%d %s  %s", l.text, s.Index+1, len(p.op.Steps), s.Name(), trimmed(s.LastError)))
			}
		} else if p.err != nil && p.op != nil {
			l.text = oneLine(l.text + "  " + trimmed(p.op.Error))
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

func countAs(p *pursuit) string {
	switch {
	case !p.over:
		return "under way"
	case p.err != nil:
		return "failed"
	}
	return "succeeded"
}

// urgency sorts: what failed, what is under way, what is done.
func urgency(p *pursuit) int {
	return map[string]int{"failed": 0, "under way": 1, "succeeded": 2}[countAs(p)]
}

// trimmed is a sentence without its full stop, for use in another.
func trimmed(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".") }
