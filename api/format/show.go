package format

import (
	"time"
)

// Copied is a copy of m, which is not deep.
func Copied(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// Timestamp is ISO 8601 with an offset, as Python's isoformat writes it; null for none.
func Timestamp(t *time.Time) any {
	if t == nil || t.IsZero() {
		return nil
	}
	u := t.UTC().Truncate(time.Microsecond)
	if u.Nanosecond() == 0 {
		return u.Format("2006-01-02T15:04:05-07:00")
	}
	return u.Format("2006-01-02T15:04:05.000000-07:00")
}

// OrNull is null for "", which is how a row says "none".
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// NumberOrNull is n, null where it is 0.
func NumberOrNull(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// BoolOrNull is null for nil.
func BoolOrNull(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}

// Dict is m, and never null in an answer.
func Dict(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// List is l, and never null in an answer.
func List[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
