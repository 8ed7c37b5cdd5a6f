package api

import (
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// setters make the functions that write a JSON value into a field of a T. null and
// "removed" are the same: the field gets its empty value. The name of the resource
// is part of their errors, which are Ironic's (its JSON schemas).
type setters[T any] struct{ resource string }

// wrongType is the error of a value that has another type than want, which is one
// or several of the names of JSON's types, quoted.
func (r setters[T]) wrongType(name, want string, v any) error {
	return fault.New(fault.Invalid, "Schema error for %s: %s: %s is not of type %s", r.resource, name, describe(v), want)
}

func (r setters[T]) nul(name string) error {
	return fault.New(fault.Invalid, "Schema error for %s: %s holds a NUL character", r.resource, name)
}

// text sets a string of at most limit characters.
func (r setters[T]) text(name string, limit int, at func(*T) *string) func(*T, any) error {
	return func(t *T, v any) error {
		s, ok := v.(string)
		switch {
		case !ok && v != nil:
			return r.wrongType(name, "'string', 'null'", v)
		case len([]rune(s)) > limit:
			return fault.New(fault.Invalid, "Schema error for %s: %s: '%s' is too long, at most %d characters are allowed", r.resource, name, clip(s), limit)
		case hasNUL(s):
			return r.nul(name)
		}
		*at(t) = s
		return nil
	}
}

// uuid sets a UUID, in its canonical form.
func (r setters[T]) uuid(name string, at func(*T) *string) func(*T, any) error {
	return func(t *T, v any) error {
		s, ok := v.(string)
		switch {
		case !ok && v != nil:
			return r.wrongType(name, "'string', 'null'", v)
		case v != nil && !isUUID(s):
			return fault.New(fault.Invalid, "Expected UUID for %s: %s", name, clip(s))
		}
		*at(t) = canonicalUUID(s)
		return nil
	}
}

// boolean sets a boolean, or a word for one; null sets it to absent.
func (r setters[T]) boolean(name string, absent bool, at func(*T) *bool) func(*T, any) error {
	return func(t *T, v any) error {
		if v == nil {
			*at(t) = absent
			return nil
		}
		b, err := asBool(name, v)
		*at(t) = b
		return err
	}
}

// nullBoolean sets a boolean that may be null.
func (r setters[T]) nullBoolean(name string, at func(*T) **bool) func(*T, any) error {
	return func(t *T, v any) error {
		if v == nil {
			*at(t) = nil
			return nil
		}
		b, err := asBool(name, v)
		*at(t) = &b
		return err
	}
}

// dict sets an object.
func (r setters[T]) dict(name string, at func(*T) *map[string]any) func(*T, any) error {
	return func(t *T, v any) error {
		m, ok := v.(map[string]any)
		switch {
		case !ok && v != nil:
			return r.wrongType(name, "'object', 'null'", v)
		case hasNUL(m):
			return r.nul(name)
		case m == nil:
			m = map[string]any{}
		}
		*at(t) = m
		return nil
	}
}

// hasNUL reports whether v contains a NUL character, which PostgreSQL can't store
// in a text.
func hasNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, one := range v {
			if hasNUL(one) {
				return true
			}
		}
	case map[string]any:
		for k, one := range v {
			if strings.ContainsRune(k, 0) || hasNUL(one) {
				return true
			}
		}
	}
	return false
}
