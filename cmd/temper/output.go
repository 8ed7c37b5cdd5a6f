package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

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
func (a *asker) show(doc any, table func(io.Writer) error) error {
	if a.format == asTable {
		return table(a.out)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // as it came
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	raw := b.Bytes()
	if a.format == asYAML {
		var err error
		if raw, err = yamlOf(raw); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	_, err := a.out.Write(raw)
	return err
}
