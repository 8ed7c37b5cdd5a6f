package table

import (
	"fmt"
	"io"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table is a table without rules. Its columns are two spaces apart, so that people and awk can read it.
type Table struct{ *content }

type content struct {
	header  []string // nil = the table has no head
	rows    [][]string
	whole   []string // heads of columns that are never cut
	wrapped []string // heads of columns of sentences
}

// New returns a table with these heads of columns; without any it has no head.
func New(header ...string) Table { return Table{&content{header: header}} }

// Whole says that the columns with these heads are never cut.
func (t Table) Whole(heads ...string) Table {
	t.whole = append(t.whole, heads...)
	return t
}

// Wrap says that the columns with these heads have sentences, such as errors: they are never cut, but may take several lines.
func (t Table) Wrap(heads ...string) Table {
	t.wrapped = append(t.wrapped, heads...)
	return t
}

// Add adds a row. Each cell becomes one line that is safe for a terminal (OneLine).
func (t Table) Add(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = OneLine(c)
	}
	t.rows = append(t.rows, row)
}

// String returns the table as wide as it is, without a line break at its end.
func (t Table) String() string { return t.render(nil) }

// Screen is a Writer with a width, in characters. A width of 0 has no limit.
type Screen interface {
	io.Writer
	Width() int
}

// Print writes the table, and a line break, to w. If w is a Screen, a table with a head is made to fit.
func (t Table) Print(w io.Writer) error {
	var widths []int
	if s, ok := w.(Screen); ok && s.Width() > 0 && t.header != nil {
		widths = t.fit(s.Width())
	}
	_, err := fmt.Fprintln(w, t.render(widths))
	return err
}

// render returns the table with columns of at most these widths; nil = as wide as they are.
func (t Table) render(widths []int) string {
	w := pretty.NewWriter()
	style := pretty.StyleDefault
	style.Options = pretty.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	if len(t.header) > 0 {
		w.AppendHeader(t.prettyRow(t.header, widths))
	}
	for _, r := range t.rows {
		w.AppendRow(t.prettyRow(r, widths))
	}
	return w.Render()
}

func (t Table) prettyRow(cells []string, widths []int) pretty.Row {
	r := make(pretty.Row, len(cells))
	for i, c := range cells {
		switch {
		case i >= len(widths):
		case t.is(i, t.wrapped):
			c = text.WrapSoft(c, widths[i])
		default:
			c = cutMiddle(c, widths[i])
		}
		r[i] = c
	}
	return r
}
