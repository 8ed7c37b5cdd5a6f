package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
)

// Bounds of request bodies, in bytes and levels (Ironic api/middleware limits:
// config drives and inventories are large, everything else is not).
const (
	maxBody           = 1 << 20
	maxBodyProvision  = 64 << 20
	maxBodyInspection = 16 << 20
	maxDepth          = 25
)

// readJSON reads a body of at most limit bytes and 25 levels into v. No body
// leaves v as it is.
func readJSON(c *gin.Context, limit int64, v any) error {
	raw, err := readBody(c, limit)
	if err != nil || len(bytes.TrimSpace(raw)) == 0 {
		return err
	}
	if err := checkDepth(raw); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return badJSON(err)
	}
	return nil
}

func readBody(c *gin.Context, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, fault.New(fault.TooLarge, "The request body is larger than %d bytes", limit)
	case err != nil:
		return nil, fault.New(fault.Invalid, "The request body could not be read: %w", err)
	}
	return raw, nil
}

// checkDepth walks the tokens once: a body that is nested too deep is refused
// before anything is built from it.
func checkDepth(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	depth := 0
	for {
		t, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return badJSON(err)
		}
		delim, ok := t.(json.Delim)
		switch {
		case !ok:
		case delim == '{' || delim == '[':
			if depth++; depth > maxDepth {
				return fault.New(fault.Invalid, "The request body is nested deeper than %d levels", maxDepth)
			}
		default:
			depth--
		}
	}
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
func readObject(c *gin.Context, limit int64, allowed ...string) (*object, error) {
	var raw any
	if err := readJSON(c, limit, &raw); err != nil {
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
