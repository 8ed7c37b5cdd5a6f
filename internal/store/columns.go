package store

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// table lists the columns of a database table whose rows are read into a T. The columns
// stand there once: statements select all of them (n.*), rows are read by the names of
// their columns, and what writes or sorts by them is made from the list. A test compares
// each table with the database's information_schema.
type table[T any] struct {
	columns []column[T]
	index   map[string]int
}

// column is one column of a table[T].
type column[T any] struct {
	name string
	into func(*T) any         // where its value goes when a row is read; nil = Go reads it nowhere
	from func(*T, *dicts) any // what is written; nil = it is not written from a T

	null string // what stands for NULL, in SQL; "" = the column is never NULL
	cast string // from text, for a column of another type

	writers writers
	sortAs  string // the expression of the sort key; "" = lists can't be sorted by it
}

// writers are the statements that write a column.
type writers uint8

const (
	onCreate writers = 1 << iota
	onPatch          // what a user may change
	onMove           // what changes with a node's provision state
)

func newTable[T any](columns ...column[T]) *table[T] {
	t := &table[T]{columns: columns, index: make(map[string]int, len(columns))}
	for i, c := range columns {
		t.index[c.name] = i
	}
	return t
}

// by says which statements write the column.
func (c column[T]) by(w writers) column[T] {
	c.writers = w
	return c
}

// sorted says that lists can be sorted by the column, of the table that statements call alias.
// The expression is never null, so that (expression, id) is a total order that a marker can be
// compared with.
func (c column[T]) sorted(alias string) column[T] {
	c.sortAs = alias + "." + c.name
	if c.null != "" {
		text := ""
		if c.cast != "" {
			text = "::text"
		}
		c.sortAs = "coalesce(" + c.sortAs + text + ", " + c.null + ")"
	}
	return c
}

// sortedAs is sorted for a column that is not sorted by its value alone.
func (c column[T]) sortedAs(expression string) column[T] {
	c.sortAs = expression
	return c
}

// written is how a statement writes the column from the parameter of its name.
func (c column[T]) written() string {
	if c.null == "''" {
		return "nullif(@" + c.name + ", '')" + c.cast
	}
	return "@" + c.name
}

// join joins what text gives for the columns that w writes.
func (t *table[T]) join(w writers, text func(column[T]) string) string {
	var out []string
	for _, c := range t.columns {
		if c.writers&w != 0 {
			out = append(out, text(c))
		}
	}
	return strings.Join(out, ", ")
}

// names, values and assignments are parts of INSERT and UPDATE.
func (t *table[T]) names(w writers) string {
	return t.join(w, func(c column[T]) string { return c.name })
}

func (t *table[T]) values(w writers) string { return t.join(w, column[T].written) }

func (t *table[T]) assignments(w writers) string {
	return t.join(w, func(c column[T]) string { return c.name + " = " + c.written() })
}

// args are the parameters of the columns that w writes.
func (t *table[T]) args(row *T, w writers) (args, error) {
	var d dicts
	a := args{}
	for _, c := range t.columns {
		if c.writers&w != 0 {
			a[c.name] = c.from(row, &d)
		}
	}
	return a, d.err
}

// sorts are the expressions behind the sort keys.
func (t *table[T]) sorts() map[string]string {
	out := map[string]string{}
	for _, c := range t.columns {
		if c.sortAs != "" {
			out[c.name] = c.sortAs
		}
	}
	return out
}

func (t *table[T]) place(name string) (int, bool) {
	i, ok := t.index[name]
	return i, ok
}

func (t *table[T]) name(i int) string { return t.columns[i].name }
func (t *table[T]) size() int         { return len(t.columns) }

// The kinds of column. All of them read NULL as Go's zero value: the columns of a table that
// an outer join has no row of are all NULL.

func text[T any, S ~string](name string, f func(*T) *S) column[T] {
	return column[T]{
		name: name, into: func(t *T) any { return nullText[S]{f(t)} },
		from: func(t *T, _ *dicts) any { return string(*f(t)) },
	}
}

// optionalText is NULL where the Go string is empty.
func optionalText[T any, S ~string](name string, f func(*T) *S) column[T] {
	c := text(name, f)
	c.null = "''"
	return c
}

func optionalUUID[T any](name string, f func(*T) *string) column[T] {
	c := optionalText(name, f)
	c.cast = "::uuid"
	return c
}

func flag[T any](name string, f func(*T) *bool) column[T] {
	return column[T]{
		name: name, into: func(t *T) any { return nullBool{f(t)} },
		from: func(t *T, _ *dicts) any { return *f(t) },
	}
}

func number[T any, I ~int | ~int32 | ~int64](name string, f func(*T) *I) column[T] {
	return column[T]{name: name, into: func(t *T) any { return nullInt[I]{f(t)} }}
}

// integer is number for a column that is written.
func integer[T any, I ~int | ~int16 | ~int32 | ~int64](name string, f func(*T) *I) column[T] {
	return column[T]{
		name: name, into: func(t *T) any { return nullInt[I]{f(t)} },
		from: func(t *T, _ *dicts) any { return int64(*f(t)) },
	}
}

func instant[T any](name string, f func(*T) *time.Time) column[T] {
	return column[T]{name: name, into: func(t *T) any { return nullTime{f(t)} }}
}

// optional is NULL where the Go pointer is nil; null is what it is sorted as then.
func optional[T, V any](name, null string, f func(*T) **V) column[T] {
	return column[T]{
		name: name, null: null, into: func(t *T) any { return f(t) },
		from: func(t *T, _ *dicts) any { return *f(t) },
	}
}

func dictionary[T any](name string, f func(*T) *map[string]any) column[T] {
	return column[T]{
		name: name, into: func(t *T) any { return f(t) },
		from: func(t *T, d *dicts) any { return d.dict(*f(t)) },
	}
}

// other is a column of a type of its own.
func other[T, V any](name string, f func(*T) *V, from func(*T, *dicts) any) column[T] {
	return column[T]{name: name, into: func(t *T) any { return f(t) }, from: from}
}

// unread is a column that only SQL uses.
func unread[T any](name string) column[T] { return column[T]{name: name} }

// The targets of Scan that read NULL as Go's zero value. Each is a single pointer, which Go stores in an
// interface without an allocation.
type (
	nullText[S ~string]                        struct{ to *S }
	nullBool                                   struct{ to *bool }
	nullInt[I ~int | ~int16 | ~int32 | ~int64] struct{ to *I }
	nullTime                                   struct{ to *time.Time }
)

func (n nullText[S]) ScanText(v pgtype.Text) error {
	*n.to = S(v.String)
	return nil
}

func (n nullBool) ScanBool(v pgtype.Bool) error {
	*n.to = v.Bool
	return nil
}

func (n nullInt[I]) ScanInt64(v pgtype.Int8) error {
	*n.to = I(v.Int64)
	return nil
}

func (n nullTime) ScanTimestamptz(v pgtype.Timestamptz) error {
	*n.to = v.Time
	return nil
}

// section is a table[T] among the columns of a result.
type section interface {
	place(name string) (int, bool)
	name(i int) string
	size() int
}

// slot is what a column of a result is: a column of a section or, behind all of them, one
// that the caller of the scan reads by its position.
type slot struct{ section, column int }

const behind = -1

// layout returns where the columns of a result such as SELECT n.*, o.*, a.* go. The columns of each
// section stand together, and the sections in the order of the arguments. A section ends before the
// first column whose name it does not have, or has had before.
func layout(fields []pgconn.FieldDescription, more int, sections ...section) ([]slot, error) {
	out := make([]slot, 0, len(fields))
	for i, s := range sections {
		had := make([]bool, s.size())
		for len(out) < len(fields) {
			column, known := s.place(fields[len(out)].Name)
			if !known || had[column] {
				break
			}
			had[column] = true
			out = append(out, slot{i, column})
		}
		for column, found := range had {
			if !found {
				return nil, fmt.Errorf("the result has no column %s", s.name(column))
			}
		}
	}
	if n := len(fields) - len(out); n != more {
		return nil, fmt.Errorf("the result has %d columns behind those of its tables, not %d", n, more)
	}
	for i := range more {
		out = append(out, slot{behind, i})
	}
	return out, nil
}

func (t *table[T]) into(i int, row *T) any {
	if f := t.columns[i].into; f != nil {
		return f(row)
	}
	return nil
}

// rowScan reads rows of one table. It finds the places of the columns with the first row.
type rowScan[T any] struct {
	table *table[T]
	row   T
	more  []any
	slots []slot
	into  []any
}

// ScanRow makes a rowScan a target of Scan (pgx.RowScanner).
func (s *rowScan[T]) ScanRow(rows pgx.Rows) (err error) {
	if s.slots == nil {
		if s.slots, err = layout(rows.FieldDescriptions(), len(s.more), s.table); err != nil {
			return err
		}
		s.into = make([]any, len(s.slots))
	}
	for i, at := range s.slots {
		if at.section == behind {
			s.into[i] = s.more[at.column]
		} else {
			s.into[i] = s.table.into(at.column, &s.row)
		}
	}
	return rows.Scan(s.into...)
}

// eachRow returns a scan of rows that have the columns of the table and then those of more.
func eachRow[T any](t *table[T], more ...any) func(pgx.Row) (T, error) {
	s := &rowScan[T]{table: t, more: more}
	return func(r pgx.Row) (T, error) {
		var zero T
		s.row = zero
		err := r.Scan(s)
		return s.row, err
	}
}
