// Package fault gives errors a kind. Each edge of the program (HTTP, Temporal, the command line)
// decides in one place what a kind means there. The package never formats for an edge and never logs.
package fault

import (
	"context"
	"errors"
	"fmt"
	"net"

	"go.temper.dev/temper/internal/mask"
)

// Kind is the kind of an error. The zero value is Internal: an error that nobody classified is a
// fault of Temper.
type Kind int

// The kinds. The comment names Ironic's HTTP status for each; package api holds
// the map, retry.go the retry class.
const (
	Internal       Kind = iota // 500: a fault of Temper; clients don't get the text
	Invalid                    // 400: the request or a setting is wrong
	NotAllowed                 // 400: the life-cycle table refuses the verb in this state
	Unauthorized               // 401
	Forbidden                  // 403: protected node, missing right
	NotFound                   // 404
	NotAcceptable              // 406: microversion
	Conflict                   // 409: locked, taken, compare-and-set lost
	TooLarge                   // 413
	NoValidHost                // 404 or 400: no live conductor covers the node
	Unavailable                // 503: a dependency is away; try again
	Unreachable                // hardware did not answer (connection, time-out, 5xx): try again
	Busy                       // hardware answered "later" (503 with Retry-After, agent busy)
	Refused                    // hardware answered no, and asking again will not help
	Denied                     // hardware refused our credentials: never retried, a retry locks accounts
	Untrusted                  // the certificate of a BMC, agent or image server does not verify
	Lost                       // somebody else has the claim: stop, change nothing
	OutcomeUnknown             // the answer to a request that may be sent only once was lost, and its effect can't be read back
)

var names = map[Kind]string{
	Internal: "internal", Invalid: "invalid", NotAllowed: "not allowed", Unauthorized: "unauthorized",
	Forbidden: "forbidden", NotFound: "not found", NotAcceptable: "not acceptable", Conflict: "conflict",
	TooLarge: "too large", NoValidHost: "no valid host", Unavailable: "unavailable", Unreachable: "unreachable",
	Busy: "busy", Refused: "refused", Denied: "denied", Untrusted: "untrusted", Lost: "lost",
	OutcomeUnknown: "outcome unknown",
}

// String returns the kind's name, which metrics and Temporal's error types have.
func (k Kind) String() string {
	if s, ok := names[k]; ok {
		return s
	}
	return fmt.Sprintf("kind %d", int(k))
}

// ParseKind is the inverse of String. Unknown names are Internal.
func ParseKind(s string) Kind {
	for k := Internal; k <= OutcomeUnknown; k++ {
		if names[k] == s {
			return k
		}
	}
	return Internal
}

// Error is an error with a kind. Secrets in URLs are masked in its text, so that it may be shown to
// people.
type Error struct {
	Kind Kind
	code Code // "" = that of an error within, or of the kind
	err  error
}

func (e *Error) Error() string { return Text(e.err) }

// Text returns the text of any error with the secrets in URLs masked; errors of
// net/http, for example, contain whole URLs. Use it wherever an error is stored, put
// into a history or sent to a client.
func Text(err error) string { return mask.URLs(err.Error()) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return errors.Unwrap(e.err) }

// New returns an error of kind k. format and args are those of fmt.Errorf, including %w.
func New(k Kind, format string, args ...any) error {
	return &Error{Kind: k, err: fmt.Errorf(format, args...)}
}

// KindOf returns the kind of the outermost *Error in err's chain. Without one, a deadline that has
// passed and a network error are Unreachable, and everything else is Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	var n net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) {
		return Unreachable
	}
	return Internal
}

// NoAnswerError says why a request got no answer at all. Perhaps only this process can't reach the
// other side, and another conductor can.
type NoAnswerError string

func (s NoAnswerError) Error() string { return string(s) }

// NoAnswer reports whether a NoAnswerError or a network error is in err's chain.
func NoAnswer(err error) bool {
	var s NoAnswerError
	var n net.Error
	return errors.As(err, &s) || errors.As(err, &n)
}

// Is reports whether err is of kind k.
func Is(err error, k Kind) bool { return err != nil && KindOf(err) == k }
