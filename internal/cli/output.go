package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
)

// maxError is how much of an error a list shows, in characters.
const maxError = 80

// checkLimit checks a --limit.
func checkLimit(n int) error {
	if n < 1 || n > client.MaxLimit {
		return fmt.Errorf("--limit must be from 1 to %d", client.MaxLimit)
	}
	return nil
}

// reportMore says that a list was cut.
func (s *session) reportMore(more bool, limit int, what string) {
	if more {
		fmt.Fprintf(s.err, "temper: there are more than these %d %s: --limit shows more\n", limit, what)
	}
}

// orEmpty is a list that is [] and not null where it is empty.
func orEmpty[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// format is how answers are shown; a flag.
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

// show writes doc, which marshals to the API's own shape, or what table makes for people.
func (s *session) show(doc any, table func(io.Writer) error) error {
	if s.format == asTable {
		return table(s.out)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // as it came
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

// view shows nothing unless a command watches. Where the answer is to be JSON or YAML, what is watched goes to standard error.
func (s *session) view(watching bool) watch.View {
	switch {
	case !watching:
		return watch.None{}
	case s.format != asTable:
		return watch.NewLineView(s.err)
	}
	return watch.NewView(s.out, s.now)
}
