package format

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Query reads the parameters of a request and remembers the first thing that
// is wrong with them. A parameter that is there and empty counts as given.
type Query struct {
	values url.Values
	Minor  int
	base   string // what stands before every link of the answer
	Err    error
}

// ReadQuery takes the parameters apart; those not in allowed are refused, as in Ironic.
func ReadQuery(c *gin.Context, allowed ...string) *Query {
	q := &Query{values: c.Request.URL.Query(), Minor: Minor(c), base: PublicURL(c)}
	var extra []string
	for name := range q.values {
		if !slices.Contains(allowed, name) {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		slices.Sort(extra)
		q.Fail("Unexpected arguments: %s", Clip(strings.Join(extra, ", ")))
	}
	return q
}

// Fail records that the parameters are wrong, unless something was wrong before.
func (q *Query) Fail(format string, args ...any) { q.FailCode(fault.InvalidRequest, format, args...) }

// FailCode is Fail with a code.
func (q *Query) FailCode(code fault.Code, format string, args ...any) {
	if q.Err == nil {
		q.Err = fault.Coded(code, format, args...)
	}
}

// Has reports whether a parameter is given, be it empty.
func (q *Query) Has(name string) bool { return q.values.Has(name) }

// Text is a parameter as it came; nil = not given.
func (q *Query) Text(name string) *string {
	if !q.values.Has(name) {
		return nil
	}
	v := q.values.Get(name)
	if len(v) > maxParameter {
		q.Fail("The value of %s is longer than %d bytes", name, maxParameter)
		return nil
	}
	if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
		q.Fail("The value of %s is not text in UTF-8", name)
		return nil
	}
	return &v
}

// Word is text without the difference between absent and empty.
func (q *Query) Word(name string) string {
	if v := q.Text(name); v != nil {
		return *v
	}
	return ""
}

// Node is the name or uuid of a node.
func (q *Query) Node(name string) string {
	v := node.CanonicalUUID(q.Word(name))
	if v != "" && !node.IsUUID(v) && !node.ValidName(v, MaxMinor) {
		q.Fail("Expected a logical name or UUID but received %s.", Clip(v))
	}
	return v
}

// UUID is a parameter that is a UUID, in its canonical form; "" = not given.
func (q *Query) UUID(name string) string {
	v := q.Word(name)
	if q.Has(name) && !node.IsUUID(v) {
		q.Fail("Expected UUID for %s: %s", name, Clip(v))
		return ""
	}
	return node.CanonicalUUID(v)
}

// Boolean is a parameter that is one of Ironic's words for true and false; nil = not given.
func (q *Query) Boolean(name string) *bool {
	v := q.Text(name)
	if v == nil {
		return nil
	}
	b, ok := parseBool(*v)
	if !ok {
		q.Fail("Invalid %s: Unrecognized value '%s', acceptable values are: %s", name, Clip(*v), boolWords)
		return nil
	}
	return &b
}

// Time is a parameter that is a time, in RFC 3339; zero = not given.
func (q *Query) Time(name string) time.Time {
	v := q.Text(name)
	if v == nil {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, *v)
	if err != nil {
		q.Fail("Expected a time such as 2026-01-02T15:04:05Z for %s: %s", name, Clip(*v))
	}
	return at
}

func (q *Query) integer(name string) *int {
	v := q.Text(name)
	if v == nil {
		return nil
	}
	i, err := strconv.Atoi(strings.TrimSpace(*v))
	if err != nil {
		q.Fail("Expected an integer for %s: %s", name, Clip(*v))
		return nil
	}
	return &i
}

// List is a comma-separated parameter: lower case, without doubles; nil = not given.
func (q *Query) List(name string) []string {
	v := q.Text(name)
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

// RequireVersion refuses the parameters if the request's microversion is older than first.
func (q *Query) RequireVersion(first int, names ...string) {
	for _, name := range names {
		if q.Err == nil && q.Has(name) && q.Minor < first {
			q.Err = TooNew(first)
		}
	}
}

// Bounds of what a stranger's words may be.
const (
	maxParameter = 8 << 10 // bytes of one query parameter
	maxClip      = 128     // bytes of it that an error repeats
)
