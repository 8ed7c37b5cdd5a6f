package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// Stage says how far a failed request came.
type Stage int

// The stages.
const (
	Refused    Stage = iota // the API answered with an error: Error.Status
	Unreached               // no connection: nothing was sent
	Lost                    // sent, and no answer came
	Unreadable              // the answer is not one of the API
)

// Error is a failed request. Its text is a sentence without a capital letter and a full stop.
type Error struct {
	Stage        Stage
	Status       int        // of the answer, 0 = none
	Words        string     // the text of the API (Ironic's faultstring), or what is wrong with the answer; without a full stop
	Code         fault.Code // for programs; "" = the answer has none
	Help         []Help     // what the user can do, in this order
	RequestID    string     // under which the API logged it; "" = none
	Method, Path string
	URL          string // of the API

	retryAfter time.Duration // Retry-After of the answer; 0 = none
	final      bool          // a retry would fail in the same way
	doubt      bool          // the request may have been accepted before, when it was sent first
	err        error
}

// Help is one thing that the user can do about an error.
type Help struct {
	Command string `json:"command"`
	Effect  string `json:"effect"` // what it does; Command and Effect together are a sentence
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

func (e *Error) Error() string {
	switch {
	case e.Stage == Unreached:
		return fmt.Sprintf("the API at %s can not be reached: %s", e.URL, describe(e.err))
	case e.Stage == Lost && e.Method == http.MethodGet:
		return fmt.Sprintf("the API at %s did not answer: %s", e.URL, describe(e.err))
	case e.Stage == Lost:
		return fmt.Sprintf("the API at %s did not answer %s %s, which may have been accepted: %s", e.URL, e.Method, e.Path, describe(e.err))
	case e.Stage == Unreadable:
		return fmt.Sprintf("%s %s%s: %s", e.Method, e.URL, e.Path, e.Words)
	case e.Status == http.StatusUnauthorized:
		return fmt.Sprintf("the API at %s refused the login: %s", e.URL, e.Words)
	case e.Status >= http.StatusInternalServerError && e.RequestID != "":
		return fmt.Sprintf("the API answered %d: %s (its log has %s)", e.Status, e.Words, e.RequestID)
	case e.Status >= http.StatusInternalServerError:
		return fmt.Sprintf("the API answered %d: %s", e.Status, e.Words)
	}
	return e.Words
}

// Reason returns the words of err without what differs from one request to the next: two requests that failed for the same reason
// have the same.
func Reason(err error) string {
	var e *Error
	if errors.As(err, &e) {
		same := *e
		same.RequestID = ""
		return same.Error()
	}
	return err.Error()
}

// StatusOf returns the HTTP status with which the API refused the request, or 0 if err is another error.
func StatusOf(err error) int {
	var e *Error
	if errors.As(err, &e) && e.Stage == Refused {
		return e.Status
	}
	return 0
}

// CodeOf returns the code of the API's error in err's chain, or "".
func CodeOf(err error) fault.Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// HelpOf returns the help of the API's error in err's chain.
func HelpOf(err error) []Help {
	var e *Error
	if errors.As(err, &e) {
		return e.Help
	}
	return nil
}

// InDoubt reports whether the request may have been accepted although err is its answer.
func InDoubt(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.doubt || e.lost())
}

// StageOf returns the stage of the *Error in err's chain, and whether there is one.
func StageOf(err error) (s Stage, ok bool) {
	var e *Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Stage, true
}

// Away reports whether err says that the API, or something that it needs, such as its database, did not answer. The same request
// may succeed later.
func Away(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.final {
		return false
	}
	return e.Stage == Unreached || e.Stage == Lost || e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests
}

// noAnswer returns the error for a request without an answer.
func (c *Client) noAnswer(ctx context.Context, r request, err error) error {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	e := &Error{Stage: Lost, Method: r.method, Path: r.path, URL: c.base, err: err}
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		e.Stage = Unreached
	case errors.As(err, &certificate), errors.As(err, &noTLS), errors.Is(err, http.ErrSchemeMismatch):
		e.Stage, e.final = Unreached, true
	}
	return e
}

// describe says what is wrong with a connection, without the addresses that net/http puts around it.
func describe(err error) string {
	var timeout net.Error
	var dns *net.DNSError
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "it took too long"
	case errors.As(err, &dns):
		return "no address is known for " + dns.Name
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

// unavailable begins what the API says with every 503, as Ironic does. What follows says what is unavailable.
const unavailable = "Resource temporarily unavailable, please retry"

// readError returns the error for an answer that is not a success.
func (c *Client) readError(r request, res *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(res.Body, maxFault)) // what was read until then is used
	e := &Error{
		Status: res.StatusCode, Method: r.method, Path: r.path, URL: c.base,
		RequestID: res.Header.Get(headerRequestID), retryAfter: retryAfter(res.Header),
	}
	e.Code, e.Help = faultCode(raw)
	if e.Words = FaultString(raw); e.Words != "" {
		if meaning, general := strings.CutPrefix(e.Words, unavailable+". "); general {
			e.Words = meaning
		}
		return e
	}
	e.Words = strings.ToLower(http.StatusText(res.StatusCode))
	if res.StatusCode < http.StatusInternalServerError {
		// Instead of an API that is away, a proxy may answer 5xx. Any other status without a fault is not from the API.
		e.Stage, e.Words = Unreadable, fmt.Sprintf("what answers there is not Temper's API: it says %d %s", e.Status, e.Words)
	}
	return e
}

// faultCode returns the code and the help in the body of an error.
func faultCode(raw []byte) (fault.Code, []Help) {
	var body struct {
		Code fault.Code `json:"code"`
		Help []Help     `json:"help"`
	}
	if jsonvalue.Unmarshal(raw, &body) != nil {
		return "", nil
	}
	return body.Code, body.Help
}

// FaultString returns the sentence in the body of an error, or "" if there is none. Ironic puts JSON into a string of its JSON
// (error_message.faultstring), its basic-auth middleware answers error.message, older ones put no string around it.
func FaultString(raw []byte) string {
	var body struct {
		Packed json.RawMessage `json:"error_message"`
		Basic  struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if jsonvalue.Unmarshal(raw, &body) != nil {
		return ""
	}
	var text string
	if jsonvalue.Unmarshal(body.Packed, &text) == nil {
		body.Packed = json.RawMessage(text)
	}
	var inner struct {
		Fault string `json:"faultstring"`
	}
	switch err := jsonvalue.Unmarshal(body.Packed, &inner); {
	case err == nil && inner.Fault != "":
		text = inner.Fault
	case text == "":
		text = body.Basic.Message
	}
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
}
