// Package fault gives errors a kind, so that each edge (HTTP, Temporal, the
// command line) decides once what a kind means. It never formats for an edge
// and never logs.
package fault

import (
	"context"
	"errors"
	"fmt"
	"net"

	"go.temper.dev/temper/internal/mask"
)

// Kind says what sort of fault an error is. The zero value is Internal: a
// fault nobody classified is ours.
type Kind int

// The kinds. The comment names Ironic's HTTP status for each; package api holds
// the map, retry.go the retry class.
const (
	Internal       Kind = iota // 500: ours, told to a client in two words only
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
	Lost                       // the claim is not ours any more: stop, touch nothing
	OutcomeUnknown             // sent at most once, the answer was lost, and nothing can be read back
)

var names = map[Kind]string{
	Internal: "internal", Invalid: "invalid", NotAllowed: "not allowed", Unauthorized: "unauthorized",
	Forbidden: "forbidden", NotFound: "not found", NotAcceptable: "not acceptable", Conflict: "conflict",
	TooLarge: "too large", NoValidHost: "no valid host", Unavailable: "unavailable", Unreachable: "unreachable",
	Busy: "busy", Refused: "refused", Denied: "denied", Untrusted: "untrusted", Lost: "lost",
	OutcomeUnknown: "outcome unknown",
}

// String is the kind's name as it stands in metrics and in Temporal's error types.
func (k Kind) String() string {
	if s, ok := names[k]; ok {
		return s
	}
	return fmt.Sprintf("kind %d", int(k))
}

// ParseKind is the inverse of String; unknown names are Internal.
func ParseKind(s string) Kind {
	for k := Internal; k <= OutcomeUnknown; k++ {
		if names[k] == s {
			return k
		}
	}
	return Internal
}

// Error is an error of a known kind. Secrets in URLs are masked in its text, so that
// it may be shown to people.
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

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return errors.Unwrap(e.err) }

// New makes an error of kind k; format and args as in fmt.Errorf, %w included.
func New(k Kind, format string, args ...any) error {
	return &Error{Kind: k, err: fmt.Errorf(format, args...)}
}

// KindOf is the kind of the outermost *Error in err's chain. A deadline that
// passed and a failed connection are Unreachable even where nobody said so.
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

// Silence is why a request got no answer at all: the other side may be well, and
// only this process cut off from it.
type Silence string

func (s Silence) Error() string { return string(s) }

// NoAnswer reports whether a Silence, or a failure of the network, is in err's chain.
func NoAnswer(err error) bool {
	var s Silence
	var n net.Error
	return errors.As(err, &s) || errors.As(err, &n)
}

// Is reports whether err is of kind k.
func Is(err error, k Kind) bool { return err != nil && KindOf(err) == k }
