package table

import (
	"slices"

	"github.com/jedib0t/go-pretty/v6/text"
)

// This file makes a table fit a screen: it cuts the middle of long values, where names and uuids that differ are least likely
// to differ, and wraps sentences.

// gap is the number of blanks between two columns.
const gap = 2

// leasts are the least widths of a column that is cut and of one that is wrapped, unless it is narrower by itself. The first that
// make a table fit are taken. Only after the second are heads cut, too.
var leasts = []struct {
	cut, wrapped int
	heads        bool // are whole
}{{7, 30, true}, {7, 16, true}, {7, 16, false}, {4, 12, false}}

// is reports whether the head of column i is in heads.
func (t Table) is(i int, heads []string) bool {
	return i < len(t.header) && slices.Contains(heads, t.header[i])
}

// fit returns widths of columns so that the table has at most this width. If its columns can't be so narrow, it is wider.
func (t Table) fit(width int) []int {
	widths := t.natural()
	over := gap*(len(widths)-1) - width
	for _, w := range widths {
		over += w
	}
	for _, l := range leasts {
		least := make([]int, len(widths))
		for i, w := range widths {
			switch {
			case t.is(i, t.whole):
				least[i] = w
			case t.is(i, t.wrapped):
				least[i] = min(w, l.wrapped)
			case l.heads:
				least[i] = min(w, max(l.cut, text.StringWidth(t.header[i])))
			default:
				least[i] = min(w, l.cut)
			}
		}
		for over > 0 && shrinkWidest(widths, least) {
			over--
		}
	}
	return widths
}

// shrinkWidest makes the widest column narrower that is not at its least width. It returns false if there is none.
func shrinkWidest(widths, least []int) bool {
	at := -1
	for i, w := range widths {
		if w > least[i] && (at < 0 || w > widths[at]) {
			at = i
		}
	}
	if at >= 0 {
		widths[at]--
	}
	return at >= 0
}

// natural returns the widths of the columns as they are.
func (t Table) natural() []int {
	out := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, c := range row[:min(len(row), len(out))] {
			out[i] = max(out[i], text.StringWidth(c))
		}
	}
	return out
}

// cutMiddle returns s in at most width columns of a terminal, with "…" in place of its middle if it is longer.
func cutMiddle(s string, width int) string {
	if text.StringWidth(s) <= width {
		return s
	}
	all := []rune(s)
	head, tail := all[:len(all)/2], all[len(all)/2:]
	for len(head)+len(tail) > 0 && text.StringWidth(string(head))+1+text.StringWidth(string(tail)) > width {
		if len(tail) >= len(head) {
			tail = tail[1:]
		} else {
			head = head[:len(head)-1]
		}
	}
	return string(head) + "…" + string(tail)
}
