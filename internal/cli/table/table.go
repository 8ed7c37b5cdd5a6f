package table

import (
	"fmt"
	"io"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table is a table without rules. Its columns are two spaces apart, so that people and awk can read it.
type Table struct{ writer pretty.Writer }

// New returns a table with these heads of columns; without any it has no head.
func New(header ...string) Table {
	w := pretty.NewWriter()
	style := pretty.StyleDefault
	style.Options = pretty.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	if header != nil {
		w.AppendHeader(row(header))
	}
	return Table{w}
}

func row(cells []string) pretty.Row {
	r := make(pretty.Row, len(cells))
	for i, c := range cells {
		r[i] = OneLine(c)
	}
	return r
}

// Add adds a row. Each cell becomes one line that is safe for a terminal (OneLine).
func (t Table) Add(cells ...string) { t.writer.AppendRow(row(cells)) }

// String returns the table, without a line break at its end.
func (t Table) String() string { return t.writer.Render() }

// Print writes the table, and a line break, to w.
func (t Table) Print(w io.Writer) error {
	_, err := fmt.Fprintln(w, t)
	return err
}
