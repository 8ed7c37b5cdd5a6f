package table

import (
	"maps"
	"slices"
	"time"

	"go.temper.dev/temper/internal/text"
)

// Fields returns a resource as a table of its fields: those in first, in that order, and then the others by name, without
// those in hidden. A dictionary has a line for each of its keys. Unless all is set, empty fields are left out and long ones cut.
func Fields(fields map[string]any, first, hidden []string, all bool) Table {
	t := New()
	add := func(name string) {
		if v, ok := fields[name]; ok && !slices.Contains(hidden, name) {
			addField(t, name, v, all, 0)
		}
	}
	for _, name := range first {
		add(name)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(first, name) {
			add(name)
		}
	}
	return t
}

// The limits of a table of fields.
const (
	maxDepth = 3   // dictionaries within dictionaries that get a line for each key
	maxField = 250 // characters of a field, unless all is set
)

func addField(t Table, name string, v any, all bool, depth int) {
	if m, ok := v.(map[string]any); ok && len(m) > 0 && depth < maxDepth {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			addField(t, name+"."+key, m[key], all, depth+1)
		}
		return
	}
	if s, ok := v.(string); ok {
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			v = Time(&at)
		}
	}
	switch {
	case all:
		t.Add(name, Cell(v))
	case !isEmpty(v):
		t.Add(name, text.TruncateRunes(Cell(v), maxField))
	}
}

// isEmpty reports whether a field has no value. false and 0 are values.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
