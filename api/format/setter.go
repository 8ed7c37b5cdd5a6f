package format

import (
	"math"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// Setters make the functions that write a JSON value into a field of a T. null and
// "removed" are the same: the field gets its empty value. The name of the resource
// is part of their errors, which are Ironic's (its JSON schemas).
type Setters[T any] struct{ Resource string }

// WrongType is the error of a value that has another type than want, which is one
// or several of the names of JSON's types, quoted.
func (r Setters[T]) WrongType(name, want string, v any) error {
	return fault.New(fault.Invalid, "Schema error for %s: %s: %s is not of type %s", r.Resource, name, Describe(v), want)
}

// Text sets a string of at most limit characters.
func (r Setters[T]) Text(name string, limit int, at func(*T) *string) func(*T, any) error {
	return func(t *T, v any) error {
		s, ok := v.(string)
		switch {
		case !ok && v != nil:
			return r.WrongType(name, "'string', 'null'", v)
		case len([]rune(s)) > limit:
			return fault.New(fault.Invalid, "Schema error for %s: %s: '%s' is too long, at most %d characters are allowed", r.Resource, name, Clip(s), limit)
		}
		*at(t) = s
		return nil
	}
}

// Required sets a string of at most limit characters that can't be null.
func (r Setters[T]) Required(name string, limit int, at func(*T) *string) func(*T, any) error {
	set := r.Text(name, limit, at)
	return func(t *T, v any) error {
		if v == nil {
			return r.WrongType(name, "'string'", v)
		}
		return set(t, v)
	}
}

// Integer sets a whole number that can't be null, of 32 bits.
func (r Setters[T]) Integer(name string, at func(*T) *int) func(*T, any) error {
	return func(t *T, v any) error {
		n, ok := jsonvalue.Int(v)
		if !ok || n < -math.MaxInt32 || n > math.MaxInt32 {
			return r.WrongType(name, "'integer'", v)
		}
		*at(t) = int(n)
		return nil
	}
}

// UUID sets a UUID, in its canonical form.
func (r Setters[T]) UUID(name string, at func(*T) *string) func(*T, any) error {
	return func(t *T, v any) error {
		s, ok := v.(string)
		switch {
		case !ok && v != nil:
			return r.WrongType(name, "'string', 'null'", v)
		case v != nil && !node.IsUUID(s):
			return fault.New(fault.Invalid, "Expected UUID for %s: %s", name, Clip(s))
		}
		*at(t) = node.CanonicalUUID(s)
		return nil
	}
}

// Boolean sets a boolean, or a word for one; null sets it to absent.
func (r Setters[T]) Boolean(name string, absent bool, at func(*T) *bool) func(*T, any) error {
	return func(t *T, v any) error {
		if v == nil {
			*at(t) = absent
			return nil
		}
		b, err := AsBool(name, v)
		*at(t) = b
		return err
	}
}

// NullBoolean sets a boolean that may be null.
func (r Setters[T]) NullBoolean(name string, at func(*T) **bool) func(*T, any) error {
	return func(t *T, v any) error {
		if v == nil {
			*at(t) = nil
			return nil
		}
		b, err := AsBool(name, v)
		*at(t) = &b
		return err
	}
}

// Dict sets an object.
func (r Setters[T]) Dict(name string, at func(*T) *map[string]any) func(*T, any) error {
	return func(t *T, v any) error {
		m, ok := v.(map[string]any)
		switch {
		case !ok && v != nil:
			return r.WrongType(name, "'object', 'null'", v)
		case m == nil:
			m = map[string]any{}
		}
		*at(t) = m
		return nil
	}
}
