package redfish

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

const (
	maxMessages = 3   // of a BMC's messages, how many are told
	maxMessage  = 300 // runes of all of them together
)

// answer is an HTTP answer, read whole.
type answer struct {
	method  string
	path    string
	changes bool // as in the request
	status  int
	header  http.Header
	body    []byte
}

// refusal is an answer that says no, or not now.
type refusal struct {
	status int
	change bool // of a change, not of reading or logging in
	text   string
}

func (r *refusal) Error() string { return r.text }

// garbled is an answer that says yes and is not what the schema promises.
type garbled struct{ text string }

func (g *garbled) Error() string { return g.text }

func garble(path, format string, args ...any) error {
	return fault.New(fault.Unreachable, "%s: %w", path, &garbled{fmt.Sprintf(format, args...)})
}

// err is nil for an answer that says yes, else a fault of the kind that its
// status means, with the BMC's own words.
func (a *answer) err() error {
	if a.status >= 200 && a.status < 300 {
		return nil
	}
	words := a.words()
	text := fmt.Sprintf("%s %s: the BMC answers %d %s", a.method, a.path, a.status, http.StatusText(a.status))
	if words != "" {
		text += ": " + words
	}
	no := &refusal{status: a.status, change: a.changes, text: text}
	pause, asked := a.pause()
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		return fault.New(fault.Denied, "%w", no)
	case a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable && asked:
		return bmc.Busy(pause, "%w", no)
	case a.status == http.StatusConflict && a.says("ResourceInUse"):
		return bmc.Busy(pause, "%w", no) // between two states; the registry says to ask again
	case a.status >= 500:
		return fault.New(fault.Unreachable, "%w", no)
	case a.status >= 300 && a.status < 400:
		no.text += fmt.Sprintf("; it sends us to %q, which we do not follow: name that place in %s",
			clean(a.header.Get("Location"), 80), propAddress)
	}
	return fault.New(fault.Refused, "%w", no)
}

// pause returns the Retry-After, given as seconds or a date, and whether there is a
// valid one. It is at most maxPause.
func (a *answer) pause() (time.Duration, bool) {
	told := strings.TrimSpace(a.header.Get("Retry-After"))
	if at, err := http.ParseTime(told); err == nil {
		return min(max(time.Until(at), 0), maxPause).Round(time.Millisecond), true
	}
	seconds, err := strconv.ParseUint(told, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && seconds > uint64(maxPause/time.Second):
		return maxPause, true
	case err != nil:
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// failed is the fault of a task that was accepted and has failed already. One
// still under way is no fault: nothing waits here.
func (a *answer) failed() error {
	var t task
	if json.Unmarshal(a.body, &t) != nil {
		return nil
	}
	switch t.TaskState.v {
	case schemas.ExceptionTaskState, schemas.KilledTaskState, schemas.CancelledTaskState:
	default:
		return nil
	}
	return fault.New(fault.Refused, "%s %s: the BMC's task ended as %s: %s",
		a.method, a.path, t.TaskState.v, clean(t.Messages.words(), maxMessage))
}

// decode reads JSON into a resource of this package, whose properties are loose;
// only what is no JSON object at all fails.
func (a *answer) decode(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset >= int64(len(a.body)) {
			return garble(a.path, "the answer is no whole JSON: it ends after %d bytes", len(a.body))
		}
		return garble(a.path, "the answer is not the JSON of a resource: %s", clean(err.Error(), 120))
	}
	return nil
}

func firstOf(a, b string) string {
	if strings.TrimSpace(a) != "" {
		return a
	}
	return b
}

// clean makes one printable line of at most limit runes out of what a BMC sent.
func clean(s string, limit int) string {
	if len(s) > 8*limit {
		s = s[:8*limit]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return string(runes)
}
