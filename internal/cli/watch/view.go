package watch

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// View shows how far operations are.
type View interface {
	update([]*Target)
	// interrupt says that somebody else writes to the terminal now.
	interrupt()
}

// NewView returns a view that draws a picture if out is a terminal, and else writes lines. fit returns what is shown with its
// commands as the user's shell takes them.
func NewView(out io.Writer, now func() time.Time, fit func(string) string) View {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &liveView{out: out, now: now, fit: fit, colour: os.Getenv("NO_COLOR") == "", size: func() (int, int) {
			w, h, err := term.GetSize(int(f.Fd()))
			if err != nil || w <= 0 || h <= 0 {
				return 80, 24
			}
			return w, h
		}}
	}
	return NewLineView(out, fit)
}

// NewLineView returns a view that writes a line to out for every change. fit is as for NewView.
func NewLineView(out io.Writer, fit func(string) string) View {
	return &lineView{out: out, fit: fit, last: map[*Target]string{}}
}

// None is a view that shows nothing.
type None struct{}

func (None) update([]*Target) {}
func (None) interrupt()       {}

type lineView struct {
	out  io.Writer
	fit  func(string) string
	last map[*Target]string
}

func (v *lineView) interrupt() {}

func (v *lineView) update(all []*Target) {
	for _, t := range all {
		if t.Err != nil && (t.Op == nil || exit.Code(t.Err) == exit.CodeHeld) { // the error of the command says it
			continue
		}
		line, last := describe(t), v.last[t]
		if line == last {
			continue
		}
		v.last[t] = line
		if why := toldError(t.Op); why != "" && strings.Contains(last, why) { // the line before has the error
			line = strings.TrimSuffix(line, ": "+why)
		}
		fmt.Fprintln(v.out, v.fit(line))
	}
}

// toldError is the error of an operation that has ended, as describe ends with it; "" = it has none.
func toldError(o *client.Operation) string {
	if o == nil || !o.Ended() {
		return ""
	}
	return table.OneLine(table.Clause(o.Error))
}

// describe returns one line about an operation. It has no elapsed times, so that it changes only if the operation does.
func describe(t *Target) string {
	o := t.Op
	if o == nil {
		return table.OneLine(t.unread())
	}
	line := fmt.Sprintf("%s: %s %s %s", t.Name, o.Kind, o.ID, State(o))
	if o.Ended() {
		return table.OneLine(line + table.Optional(": ", table.Clause(o.Error)))
	}
	if s := o.Current(); s != nil {
		line += fmt.Sprintf(", step %d of %d: %s", s.Index+1, len(o.Steps), s.Name())
		if node.StepState(s.State) != node.StepPending {
			line += table.Optional(" on ", s.Conductor)
		}
		line += table.Optional(", ", Tries(*s))
		line += table.Optional(" after ", unlessTold(s.LastError, waitSentence(o)))
	}
	if o.StepWait != nil {
		return table.OneLine(line + ": " + o.StepWait.Sentence)
	}
	if o.WaitingUntil != nil {
		line += ", until " + table.Time(o.WaitingUntil) + table.Optional(", then ", o.AtLimit)
	}
	return table.OneLine(line)
}
