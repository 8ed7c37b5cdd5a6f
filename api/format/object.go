package format

import (
	"maps"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// Object is a JSON object of a request, read field by field. It remembers the
// first thing that is wrong.
type Object struct {
	Fields map[string]any
	Err    error
}

// ReadObject reads a body that must be an object with no other fields than allowed.
func ReadObject(c *gin.Context, class BodyClass, allowed ...string) (*Object, error) {
	o, err := ReadOpenObject(c, class)
	if err != nil {
		return nil, err
	}
	var extra []string
	for name := range o.Fields {
		if !slices.Contains(allowed, name) {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		slices.Sort(extra)
		return nil, fault.New(fault.Invalid, "Unexpected arguments: %s", Clip(strings.Join(extra, ", ")))
	}
	return o, nil
}

// ReadOpenObject reads a body that must be an object, with any fields.
func ReadOpenObject(c *gin.Context, class BodyClass) (*Object, error) {
	var raw any
	if err := ReadJSON(c, class, &raw); err != nil {
		return nil, err
	}
	switch v := raw.(type) {
	case nil:
		return &Object{}, nil
	case map[string]any:
		record := audit.Of(c.Request.Context())
		record.Names(slices.Sorted(maps.Keys(v))...)
		if reason, ok := v["reason"].(string); ok {
			record.Because(reason)
		}
		return &Object{Fields: v}, nil
	}
	return nil, fault.New(fault.Invalid, "The request body must be a JSON object")
}

// Fail records that the object is wrong, unless something was wrong before.
func (o *Object) Fail(format string, args ...any) {
	if o.Err == nil {
		o.Err = fault.New(fault.Invalid, format, args...)
	}
}

// Has reports whether a field is there and not null.
func (o *Object) Has(name string) bool { return o.Fields[name] != nil }

// Require refuses an object without the field.
func (o *Object) Require(name string) {
	if _, ok := o.Fields[name]; !ok {
		o.Fail("Missing mandatory parameter: %s", name)
	}
}

// Text is a string field; "" = absent or null.
func (o *Object) Text(name string) string {
	s, ok := o.Fields[name].(string)
	if !ok && o.Has(name) {
		o.Fail("Expected string for %s: %s", name, Describe(o.Fields[name]))
	}
	return s
}

// Boolean is a boolean field, or a word for one; nil = absent or null.
func (o *Object) Boolean(name string) *bool {
	if !o.Has(name) {
		return nil
	}
	b, err := AsBool(name, o.Fields[name])
	if err != nil && o.Err == nil {
		o.Err = err
	}
	return &b
}

// Integer is a whole number, or a string of one; nil = absent or null.
func (o *Object) Integer(name string) *int64 {
	if !o.Has(name) {
		return nil
	}
	n, ok := jsonvalue.IntOrText(o.Fields[name])
	if !ok {
		o.Fail("Expected an integer for %s: %s", name, Describe(o.Fields[name]))
	}
	return &n
}

// List is an array field; nil = absent or null.
func (o *Object) List(name string) []any {
	l, ok := o.Fields[name].([]any)
	if !ok && o.Has(name) {
		o.Fail("Expected a list for %s: %s", name, Describe(o.Fields[name]))
	}
	return l
}

// Reason reads a reason for people; blanks are none.
func (o *Object) Reason() string {
	reason := strings.TrimSpace(o.Text("reason"))
	if len(reason) > MaxReason {
		o.Fail("The reason is longer than %d bytes", MaxReason)
	}
	return reason
}

// MaxReason bounds protected_reason, retired_reason and maintenance reasons, in bytes.
const MaxReason = 4096
