package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
)

// maxError is the number of characters that a list shows of an error.
const maxError = 80

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

// show writes doc, which is in the API's own form, as JSON or YAML, or calls table, which writes it for people.
func (s *session) show(doc any, table func(io.Writer) error) error {
	if s.format == asTable {
		return table(s.out)
	}
	var b bytes.Buffer
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
		return watch.NewLineView(s.err)
	}
	return watch.NewView(s.out, s.now)
}
