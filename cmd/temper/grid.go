package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// grid is a table: no lines, columns two spaces apart, so that people and awk can read it.
type grid struct {
	table.Writer
}

func newGrid(header ...string) grid {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	if header != nil {
		w.AppendHeader(row(header))
	}
	return grid{w}
}

func row(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = oneLine(c)
	}
	return r
}

func (g grid) add(cells ...string) { g.AppendRow(row(cells)) }

func (g grid) writeTo(w io.Writer) error {
	_, err := fmt.Fprintln(w, g.Render())
	return err
}

// oneLine makes what others wrote safe for a terminal: no control characters, no line breaks, nothing that turns the
// direction of writing. "-" for nothing.
func oneLine(s string) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s))
	if s == "" {
		return "-"
	}
	return s
}

// atMost cuts s for a cell of a table.
func atMost(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// cell is a JSON value in a table.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// moment is a time in a table: in UTC, as logs and other sites have it.
func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// took is a duration in a table: tenths of a second below ten, whole seconds above.
func took(d time.Duration) string {
	switch {
	case d < 0: // clocks differ
		return "0s"
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// between is how long it was from one time to another; "" without a beginning. No end is now.
func between(from, to *time.Time, now time.Time) string {
	switch {
	case from == nil:
		return ""
	case to == nil:
		to = &now
	}
	return took(to.Sub(*from))
}

// amount is "1 node", "2 nodes".
func amount(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
