package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
)

// checkLimit checks a --limit.
func checkLimit(n int) error {
	if n < 1 || n > client.MaxLimit {
		return fmt.Errorf("--limit must be from 1 to %d", client.MaxLimit)
	}
	return nil
}

// reportMore says on standard error that a list has more items than were shown.
func (s *session) reportMore(more bool, limit int, what string) {
	if more {
		fmt.Fprintf(s.err, "temper: there are more than these %d %s: --limit shows more\n", limit, what)
	}
}

// orEmpty returns l, or an empty list for nil, which JSON shows as [] and not as null.
func orEmpty[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// format is the format of the output. It is a flag.
type format string

const (
	asTable format = "table"
	asJSON  format = "json"
	asYAML  format = "yaml"
)

// String is the flag's value.
func (f *format) String() string { return string(*f) }

// Type is the flag's type in help.
func (f *format) Type() string { return "format" }

// Set takes the flag's value.
func (f *format) Set(s string) error {
	switch v := format(s); v {
	case asTable, asJSON, asYAML:
		*f = v
		return nil
	}
	return fmt.Errorf("want %s, %s or %s", asTable, asJSON, asYAML)
}

// screen is standard output with its width in characters; 0 = without a limit.
type screen struct {
	io.Writer
	width int
}

// Width is the width that tables must fit.
func (s screen) Width() int { return s.width }

// width returns the width that tables must fit: that of the terminal, or $COLUMNS. It is 0 with --wide, and for a file or a
// pipe, because the values of what is read by a program, such as grep, must be whole.
func (s *session) width() int {
	if s.wide {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	f, ok := s.out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// show writes doc, which is in the API's own form, as JSON or YAML, or calls table, which writes it for people.
func (s *session) show(doc any, table func(io.Writer) error) error {
	var b bytes.Buffer
	if s.format == asTable {
		err := table(screen{&b, s.width()})
		_, failed := io.WriteString(s.out, s.invocation.fit(b.String()))
		return errors.Join(err, failed)
	}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // as the API sent it
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	raw := b.Bytes()
	if s.format == asYAML {
		var err error
		if raw, err = yamlOf(raw); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	_, err := s.out.Write(raw)
	return err
}

// watcher returns who follows operations for a command. Its time counts from now on.
func (s *session) watcher(o watch.Options) *watch.Watcher {
	if s.timeout.given {
		o.Timeout = s.timeout.Duration
	}
	return watch.New(o, s.Client, s.view(o.Watch), s.err, s.now)
}

// view returns the view of a command. If the output is JSON or YAML, the view is on standard error.
func (s *session) view(watching bool) watch.View {
	switch {
	case !watching:
		return watch.None{}
	case s.format != asTable:
		return watch.NewLineView(s.err, func(line string) string { return line }) // s.err fits the commands
	}
	return watch.NewView(s.out, s.now, s.invocation.fit)
}
