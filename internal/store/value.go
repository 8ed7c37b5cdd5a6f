package store

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	texts "go.temper.dev/temper/internal/text"
)

// The bounds of texts that come from hardware, in bytes.
const (
	maxError = 4 << 10
	maxEvent = 8 << 10
	maxSeen  = 200 // what a look at the hardware has shown
)

// words makes a text from anywhere storable: hardware answers hold bytes that
// are no UTF-8 and zero bytes, which PostgreSQL refuses, and have no bound.
func words(s string, limit int) string { return texts.Storable(s, limit) }

// failure makes the words of an error storable. Errors of package fault have the secrets in their
// URLs masked already; those of other packages are masked here.
func failure(s string) string { return words(mask.URLs(s), maxError) }

// jsonb is the JSON form of v for a jsonb column, which refuses zero characters;
// serial numbers from firmware have them. nil maps and lists are empty ones.
func jsonb(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fault.New(fault.Invalid, "a value has no JSON form: %w", err)
	}
	if err := jsonvalue.CheckNumbers(b); err != nil {
		return nil, fault.New(fault.Invalid, "a value can't be stored: %w", err)
	}
	if !bytes.Contains(b, []byte(`\u0000`)) {
		return b, nil
	}
	var plain any
	if err := jsonvalue.Unmarshal(b, &plain); err != nil {
		return nil, err
	}
	return json.Marshal(withoutZero(plain))
}

func withoutZero(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", "")
	case []any:
		for i := range v {
			v[i] = withoutZero(v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[strings.ReplaceAll(k, "\x00", "")] = withoutZero(v[k])
		}
		return out
	}
	return v
}

// dicts collects the JSON columns of one statement and the first error among them.
type dicts struct{ err error }

func (d *dicts) of(v any) json.RawMessage {
	b, err := jsonb(v)
	if err != nil && d.err == nil {
		d.err = err
	}
	return b
}

func (d *dicts) dict(m map[string]any) json.RawMessage {
	if m == nil {
		return json.RawMessage(`{}`)
	}
	return d.of(m)
}

func (d *dicts) steps(steps []node.Step) json.RawMessage {
	if len(steps) == 0 {
		return json.RawMessage(`[]`)
	}
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].LastError = failure(steps[i].LastError)
	}
	return d.of(steps)
}

// stepWait is never longer than a few hundred bytes: it is written again and again.
func (d *dicts) pause(p *node.Pause) any {
	if p == nil {
		return nil
	}
	return d.of(p)
}

func (d *dicts) stepWait(w *node.Wait) any {
	if w == nil {
		return nil
	}
	c := *w
	c.Subject, c.Seen, c.Unread = words(c.Subject, maxSeen), words(c.Seen, maxSeen), words(mask.URLs(c.Unread), maxSeen)
	return d.of(&c)
}

func (d *dicts) undo(u []node.Undo) json.RawMessage {
	if len(u) == 0 {
		return json.RawMessage(`[]`)
	}
	return d.of(u)
}

// micros is d for "@x * interval '1 microsecond'", exact and of one type everywhere.
func micros(d time.Duration) int64 { return d.Microseconds() }

func pageLimit(n int) int {
	if n <= 0 || n > node.MaxLimit {
		return node.MaxLimit
	}
	return n
}
