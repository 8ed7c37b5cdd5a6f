package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// query reads the parameters of a request and remembers the first thing that
// is wrong with them. A parameter that is there and empty counts as given.
type query struct {
	values url.Values
	minor  int
	base   string // what stands before every link of the answer
	err    error
}

// readQuery takes the parameters apart; those not in allowed are refused, as in Ironic.
func readQuery(c *gin.Context, allowed ...string) *query {
	q := &query{values: c.Request.URL.Query(), minor: minor(c), base: publicURL(c)}
	var extra []string
	for name := range q.values {
		if !slices.Contains(allowed, name) {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		slices.Sort(extra)
		q.fail("Unexpected arguments: %s", clip(strings.Join(extra, ", ")))
	}
	return q
}

func (q *query) fail(format string, args ...any) { q.failCode(fault.InvalidRequest, format, args...) }

func (q *query) failCode(code fault.Code, format string, args ...any) {
	if q.err == nil {
		q.err = fault.Coded(code, format, args...)
	}
}

func (q *query) has(name string) bool { return q.values.Has(name) }

// text is a parameter as it came; nil = not given.
func (q *query) text(name string) *string {
	if !q.values.Has(name) {
		return nil
	}
	v := q.values.Get(name)
	if len(v) > maxParameter {
		q.fail("The value of %s is longer than %d bytes", name, maxParameter)
		return nil
	}
	return &v
}

// word is text without the difference between absent and empty.
func (q *query) word(name string) string {
	if v := q.text(name); v != nil {
		return *v
	}
	return ""
}

// node is the name or uuid of a node.
func (q *query) node(name string) string {
	v := canonicalUUID(q.word(name))
	if v != "" && !isUUID(v) && !node.ValidName(v, MaxMinor) {
		q.fail("Expected a logical name or UUID but received %s.", clip(v))
	}
	return v
}

func (q *query) uuid(name string) string {
	v := q.word(name)
	if q.has(name) && !isUUID(v) {
		q.fail("Expected UUID for %s: %s", name, clip(v))
		return ""
	}
	return canonicalUUID(v)
}

func (q *query) boolean(name string) *bool {
	v := q.text(name)
	if v == nil {
		return nil
	}
	b, ok := parseBool(*v)
	if !ok {
		q.fail("Invalid %s: Unrecognized value '%s', acceptable values are: %s", name, clip(*v), boolWords)
		return nil
	}
	return &b
}

func (q *query) integer(name string) *int {
	v := q.text(name)
	if v == nil {
		return nil
	}
	i, err := strconv.Atoi(strings.TrimSpace(*v))
	if err != nil {
		q.fail("Expected an integer for %s: %s", name, clip(*v))
		return nil
	}
	return &i
}

// list is a comma-separated parameter: lower case, without doubles; nil = not given.
func (q *query) list(name string) []string {
	v := q.text(name)
	if v == nil {
		return nil
	}
	out := []string{}
	for _, one := range strings.Split(*v, ",") {
		one = strings.ToLower(strings.TrimSpace(one))
		if one != "" && !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// need refuses a parameter that the request's version does not have yet.
func (q *query) need(first int, names ...string) {
	for _, name := range names {
		if q.err == nil && q.has(name) && q.minor < first {
			q.err = tooNew(first)
		}
	}
}

// Bounds of what a stranger's words may be.
const (
	maxParameter = 8 << 10 // bytes of one query parameter
	maxClip      = 128     // bytes of it that an error repeats
)

// clip bounds what an error repeats of a request.
func clip(s string) string {
	if len(s) > maxClip {
		return strings.ToValidUTF8(s[:maxClip], "") + "..."
	}
	return strings.ToValidUTF8(s, "?")
}

const boolWords = "'0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'"

// parseBool reads Ironic's words for true and false (oslo_utils bool_from_string, strict).
func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}

// isUUID takes the forms that Ironic's clients send: with and without hyphens.
func isUUID(s string) bool {
	if len(s) != 36 && len(s) != 32 {
		return false
	}
	_, err := uuid.Parse(s)
	return err == nil
}

// canonicalUUID is the form in which the row has it; other strings stay as they are.
func canonicalUUID(s string) string {
	if !isUUID(s) {
		return s
	}
	u, err := uuid.Parse(s)
	if err != nil {
		return s
	}
	return u.String()
}
