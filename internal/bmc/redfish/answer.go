package redfish

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/text"
)

const (
	maxMessages = 3   // how many of a BMC's messages an error quotes
	maxMessage  = 300 // runes of all of them together
)

// answer is an HTTP answer with its whole body.
type answer struct {
	method  string
	path    string
	changes bool // as in the request
	status  int
	header  http.Header
	body    []byte
}

// refusal is the error of an answer with a status of 300 or above.
type refusal struct {
	status int
	change bool // the request was a change, not a read or a login
	text   string
	// details is text with everything that the messages name: ids, arguments, properties.
	details string
}

func (r *refusal) Error() string { return r.text }

// malformed is the error of an answer that is successful but not what the schema says.
type malformed struct{ text string }

func (g *malformed) Error() string { return g.text }

func malformedAnswer(path, format string, args ...any) error {
	return fault.CodedAs(fault.Unreachable, fault.BMCBadAnswer, "%w (%s)", &malformed{fmt.Sprintf(format, args...)}, path)
}

// err returns nil for a status from 200 to 299, else a fault of the kind that the status
// means, with the BMC's explanation.
func (a *answer) err() error {
	if a.status >= 200 && a.status < 300 {
		return nil
	}
	words := a.explanation()
	text := fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	if words != "" {
		text += ": " + words
	}
	text += fmt.Sprintf(" (%s %s)", a.method, a.path)
	no := &refusal{status: a.status, change: a.changes, text: text, details: text + " " + a.details()}
	pause, asked := a.retryAfter()
	switch {
	case a.status == http.StatusUnauthorized:
		return fault.Coded(fault.BMCWrongPassword, "%w", no)
	case a.status == http.StatusForbidden: // the BMC knows the user, who may not do this
		return fault.CodedAs(fault.Denied, fault.BMCRefuses, "%w", no)
	case a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable && asked:
		return bmc.Busy(pause, "%w", no)
	case a.notNow():
		return bmc.Busy(pause, "%w", no)
	case a.status >= 500:
		return fault.Coded(fault.BMCBadAnswer, "%w", no)
	case a.status >= 300 && a.status < 400:
		no.text += fmt.Sprintf("; it redirects to %q, which is not followed: set %s to that address",
			printable(a.header.Get("Location"), 80), propAddress)
		return fault.Coded(fault.BMCWrongAddress, "%w", no)
	}
	return fault.New(fault.Refused, "%w", no)
}

// notNowMessages are the ids of messages that mean that the same request is accepted later,
// whatever the status.
var notNowMessages = []string{
	"ResourceInUse", "ResourceInStandby", // the registry's resolution is to send the request again
	"ServiceTemporarilyUnavailable", "ResourceNotReadyRetry",
	"UnableToModifyDuringSystemPOST", // iLO: ironcore-dev/metal-operator#997
	"InvalidOperationForSystemState", // iLO right after a change of power: ironic release note redfish-post-boot-retry
	"SYS518",                         // iDRAC: data sources are unavailable: sushy release note fix-retry_volume_operation-on_sys518
}

// notNow reports whether the BMC says that it can't carry out the request at the moment.
func (a *answer) notNow() bool {
	if slices.ContainsFunc(notNowMessages, a.hasMessage) {
		return true
	}
	// iDRAC 10 for a while after a change of power: ironic release note redfish-power-on-conflict-retry.
	return a.status == http.StatusConflict && a.hasMessage("ActionParameterValueConflict")
}

// retryAfter returns the header Retry-After, given as seconds or a date, and whether there
// is a valid one. The result is at most maxPause.
func (a *answer) retryAfter() (time.Duration, bool) {
	value := strings.TrimSpace(a.header.Get("Retry-After"))
	if at, err := http.ParseTime(value); err == nil {
		return min(max(time.Until(at), 0), maxPause).Round(time.Millisecond), true
	}
	seconds, err := strconv.ParseUint(value, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && seconds > uint64(maxPause/time.Second):
		return maxPause, true
	case err != nil:
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// taskError returns the error of a task that the BMC accepted and that has failed
// already, nil for a task that still runs: no call waits for a task.
func (a *answer) taskError() error {
	var l longTask
	if jsonvalue.Unmarshal(a.body, &l) != nil {
		return nil
	}
	t := l.task()
	if t.State != bmc.TaskFailed {
		return nil
	}
	return fault.New(fault.Refused, "the BMC's task ended as %s: %s (%s %s)", t.Word, t.Messages, a.method, a.path)
}

// decode reads the body into a resource of this package. Properties of a wrong type are
// tolerated (loose); a body that is no JSON object is an error.
func (a *answer) decode(into any) error {
	if err := jsonvalue.Unmarshal(a.body, into); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset >= int64(len(a.body)) {
			return malformedAnswer(a.path, "the answer is incomplete JSON: it ends after %d bytes", len(a.body))
		}
		return malformedAnswer(a.path, "the answer is not a JSON object: %s", printable(err.Error(), 120))
	}
	return nil
}

func firstNonBlank(a, b string) string {
	if strings.TrimSpace(a) != "" {
		return a
	}
	return b
}

// printable turns text that a BMC sent into one printable line of at most limit runes.
func printable(s string, limit int) string { return text.Line(s, limit) }
