package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/text"
)

// partsOfAnswers are the parts of Temper for which an answer of the API may have to wait.
var partsOfAnswers = []string{"postgresql", "temporal"}

// delay says on standard error why a command has no answer yet: once why a request is repeated and until when, and once which part of
// Temper is broken. It is safe for concurrent use.
type delay struct {
	now func() time.Time

	mu       sync.Mutex
	out      io.Writer // nil = the command has ended
	repeated bool
	waited   bool
}

// repeats says that a request is repeated because of err, and until when.
func (d *delay) repeats(err error, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.repeated {
		d.repeated = true
		d.say("%v; trying again until %s (--timeout)", err, text.Clock(until, d.now()))
	}
}

// waits says until when the answer to a request is awaited, and which part of Temper is broken. Only its first call asks the API for
// that; later calls say nothing.
func (d *delay) waits(ctx context.Context, c *client.Client, until time.Time) {
	d.mu.Lock()
	asked := d.waited
	d.waited = true
	d.mu.Unlock()
	if asked {
		return
	}
	st, err := c.Status(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil { // the answer has come
		return
	}
	told := false
	if err == nil {
		for _, p := range st.Parts {
			if p.Broken() && slices.Contains(partsOfAnswers, p.Name) {
				d.say("%s; the answer is awaited until %s (--timeout)", sentenceOf(p), text.Clock(until, d.now()))
				told = true
			}
		}
	}
	switch {
	case told, d.repeated:
	case err == nil:
		d.say("the API at %s works on this request; the answer is awaited until %s (--timeout)", c.URL(), text.Clock(until, d.now()))
	default:
		d.say("no answer from the API at %s yet; it is awaited until %s (--timeout)", c.URL(), text.Clock(until, d.now()))
	}
}

func (d *delay) say(pattern string, args ...any) {
	if d.out != nil {
		fmt.Fprintf(d.out, "temper: "+pattern+"\n", args...)
	}
}

// over ends d: later calls print nothing.
func (d *delay) over() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out = nil
}
