package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonlimit"
)

// bodyClass is the limits on a request body, and the budget that it counts for.
type bodyClass struct {
	limits jsonlimit.Limits
	from   sender
}

// The classes of request bodies (Ironic api/middleware limits the same: config
// drives and inventories are large, everything else is not). An inventory comes
// with the ramdisk's logs, one long string, which is not kept.
var (
	maxBody           = bodyClass{jsonlimit.Limits{Bytes: 1 << 20, Elements: 50_000, Depth: maxDepth}, fromUsers}
	maxBodyProvision  = bodyClass{jsonlimit.Limits{Bytes: 64 << 20, Elements: 50_000, Depth: maxDepth}, fromUsers}
	maxBodyHeartbeat  = bodyClass{jsonlimit.Limits{Bytes: 128 << 10, Elements: 100, Depth: maxDepth}, fromAgents}
	maxBodyInspection = bodyClass{
		jsonlimit.Limits{Bytes: 16 << 20, Text: 1 << 20, Kept: 4 << 20, Elements: 50_000, Depth: maxDepth}, fromInspections,
	}
)

const maxDepth = 25

// readJSON reads a body within its limits into v. No body leaves v as it is.
func readJSON(c *gin.Context, class bodyClass, v any) error {
	raw, err := readBody(c, class)
	if err != nil || len(bytes.TrimSpace(raw)) == 0 {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return badJSON(err)
	}
	return nil
}

func readBody(c *gin.Context, class bodyClass) ([]byte, error) {
	raw, err := intakeOf(c).read(c, class)
	switch {
	case jsonlimit.Exceeded(err) == jsonlimit.Bytes:
		return nil, fault.New(fault.TooLarge, "The request body %w", err)
	case jsonlimit.Exceeded(err) != "":
		return nil, fault.New(fault.Invalid, "The request body %w", err)
	case errors.Is(err, jsonlimit.ErrBusy):
		return nil, busyReading(c, err)
	case err != nil:
		return nil, fault.New(fault.Invalid, "The request body could not be read: %w", err)
	}
	return raw, nil
}

func badJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if n, ok := strings.CutPrefix(wrong.Value, "number "); ok {
			return fault.New(fault.Invalid, "The request body has the number %s, which is out of range", clip(n))
		}
		return fault.New(fault.Invalid, "The request body is of another shape: %s is not what is expected", jsonName(wrong.Value))
	}
	return fault.New(fault.Invalid, "The request body is not valid JSON: %w", err)
}

// jsonName is a kind of JSON value, as encoding/json calls it, with its article.
func jsonName(kind string) string {
	if kind == "object" || kind == "array" {
		return "an " + kind
	}
	return "a " + kind
}

// object is a JSON object of a request, read field by field. It remembers the
// first thing that is wrong.
type object struct {
	fields map[string]any
	err    error
}

// readObject reads a body that must be an object with no other fields than allowed.
func readObject(c *gin.Context, class bodyClass, allowed ...string) (*object, error) {
	var raw any
	if err := readJSON(c, class, &raw); err != nil {
		return nil, err
	}
	o := &object{}
	switch v := raw.(type) {
	case nil:
	case map[string]any:
		o.fields = v
	default:
		return nil, fault.New(fault.Invalid, "The request body must be a JSON object")
	}
	var extra []string
	for name := range o.fields {
		if !slices.Contains(allowed, name) {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		slices.Sort(extra)
		return nil, fault.New(fault.Invalid, "Unexpected arguments: %s", clip(strings.Join(extra, ", ")))
	}
	return o, nil
}

func (o *object) fail(format string, args ...any) {
	if o.err == nil {
		o.err = fault.New(fault.Invalid, format, args...)
	}
}

// has reports whether a field is there and not null.
func (o *object) has(name string) bool { return o.fields[name] != nil }

// need makes a field mandatory.
func (o *object) need(name string) {
	if _, ok := o.fields[name]; !ok {
		o.fail("Missing mandatory parameter: %s", name)
	}
}

// text is a string field; "" = absent or null.
func (o *object) text(name string) string {
	s, ok := o.fields[name].(string)
	if !ok && o.has(name) {
		o.fail("Expected string for %s: %s", name, describe(o.fields[name]))
	}
	return s
}

// boolean is a boolean field, or a word for one; nil = absent or null.
func (o *object) boolean(name string) *bool {
	if !o.has(name) {
		return nil
	}
	b, err := asBool(name, o.fields[name])
	if err != nil && o.err == nil {
		o.err = err
	}
	return &b
}

// integer is a whole number, or a string of one; nil = absent or null.
func (o *object) integer(name string) *int64 {
	if !o.has(name) {
		return nil
	}
	n, ok := asInteger(o.fields[name])
	if !ok {
		o.fail("Expected an integer for %s: %s", name, describe(o.fields[name]))
	}
	return &n
}

// list is an array field; nil = absent or null.
func (o *object) list(name string) []any {
	l, ok := o.fields[name].([]any)
	if !ok && o.has(name) {
		o.fail("Expected a list for %s: %s", name, describe(o.fields[name]))
	}
	return l
}

func asBool(name string, v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		if b, ok := parseBool(v); ok {
			return b, nil
		}
	}
	return false, fault.New(fault.Invalid, "Invalid %s: Unrecognized value '%s', acceptable values are: %s", name, describe(v), boolWords)
}

func asInteger(v any) (int64, bool) {
	switch v := v.(type) {
	case float64:
		n := int64(v)
		return n, float64(n) == v
	case string:
		n, err := json.Number(strings.TrimSpace(v)).Int64()
		return n, err == nil
	}
	return 0, false
}

// describe is a value as an error may repeat it.
func describe(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clip(string(raw))
}
