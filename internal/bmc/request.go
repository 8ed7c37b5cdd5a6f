package bmc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Request is a request that changes something, as Target.Guard is told of it.
type Request struct {
	// Name says what is asked for. Requests of the same name leave the same behind, however often and in whatever order
	// they take effect (Repeatable tells the exception). It contains no secrets.
	Name string
	// AnswerWithin is how long the driver waits for the answer, connecting included.
	AnswerWithin time.Duration
	// Again says that the driver sends the request before once more, because it got no answer. The one before may still
	// take effect.
	Again bool
}

// Name is the name of the request for a power state.
func (r PowerRequest) Name() string { return "power " + string(r) }

// Name is the name of the request to set the override.
func (b Boot) Name() string {
	name := "boot device " + b.String()
	if b.Mode != ModeUnknown {
		name += " " + string(b.Mode)
	}
	return name
}

// The names of requests that have no parameters.
const (
	NameRestart = "restart"
	NameNMI     = "inject an NMI"
	NameBMC     = "restart the BMC"
	NameEject   = "eject the virtual medium"
	NameConsole = "end the console"
	NameRaw     = "send a raw command"

	NameClearEvents = "clear the event log"

	NameSubscribe = "create an event subscription"
)

// NameEjectDrives is the name of the request to empty all virtual drives of a kind.
func NameEjectDrives(kind string) string { return NameEject + " of each drive " + kind }

// NameUnsubscribe is the name of the request to delete the subscription with that id.
func NameUnsubscribe(id string) string { return "delete the event subscription " + id }

// NameInsert is the name of the request to insert the image at url, which may contain secrets.
func NameInsert(url string) string {
	sum := sha256.Sum256([]byte(url))
	return fmt.Sprintf("insert the virtual medium %x", sum[:6])
}

// once are the requests of which each one has an effect of its own: each restart that takes effect restarts the server, and each
// subscription and each volume that is created is another one.
var once = []string{NameRestart, NameNMI, NameBMC, NameRaw, NameSubscribe, NameCreateVolume}

// Repeatable reports whether a request may be sent although one of the same name may still take effect.
func Repeatable(name string) bool {
	return !slices.Contains(once, name) && !strings.HasPrefix(name, nameUpdate)
}

type nameKey struct{}

// Asking returns a context for the requests with which a driver asks for name (Request.Name).
func Asking(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, name)
}

// AskedFor returns the name in ctx, or otherwise if there is none.
func AskedFor(ctx context.Context, otherwise string) string {
	if name, ok := ctx.Value(nameKey{}).(string); ok {
		return name
	}
	return otherwise
}

type listenerKey struct{}

// Listening returns a context for requests to a BMC. The driver calls heard after each answer, in the goroutine of the
// caller, with how long the BMC took for it and how long the driver awaits answers from now on.
func Listening(ctx context.Context, heard func(took, within time.Duration)) context.Context {
	return context.WithValue(ctx, listenerKey{}, heard)
}

// Heard calls the function that Listening put into ctx, if there is one.
func Heard(ctx context.Context, took, within time.Duration) {
	if heard, ok := ctx.Value(listenerKey{}).(func(took, within time.Duration)); ok {
		heard(took, within)
	}
}

// Permit calls the guard right before the request r is sent, if there is a guard. It returns when the driver has to give
// the request up. After that the driver must not send it any more.
func (t Target) Permit(ctx context.Context, r Request) (until time.Time, err error) {
	if t.Guard == nil {
		return time.Now().Add(r.AnswerWithin), nil
	}
	return t.Guard(ctx, r)
}

// notSent marks the error of a request of which nothing was sent.
type notSent struct{ err error }

func (e *notSent) Error() string { return e.err.Error() }
func (e *notSent) Unwrap() error { return e.err }

// NotSent marks err as the error of a request of which nothing was sent, so that it can't take effect.
func NotSent(err error) error { return &notSent{err} }

// IsNotSent reports whether err was marked by NotSent.
func IsNotSent(err error) bool {
	var marked *notSent
	return errors.As(err, &marked)
}
