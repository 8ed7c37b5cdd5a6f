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

// partsWithin is how long the API is asked which part is broken. It says so in three seconds, also if one of them does not answer. So a
// command says something within five seconds.
const partsWithin = 3500 * time.Millisecond

// unexplained is after how long a command says that the API works on its request, if no part of Temper is broken.
const unexplained = 3 * time.Second

// delay says on standard error why a command has no answer yet: once why a request is repeated and until when, and once which part of
// Temper is broken. It also says what the API warns of, each warning once. It is safe for concurrent use.
type delay struct {
	now func() time.Time

	mu       sync.Mutex
	out      io.Writer // nil = the command has ended
	repeated bool
	waited   bool
	answered bool          // the API has said which parts are broken
	broken   []client.Part // that were told; nil = none
	warned   []string
}

// warns says what the API warns of.
func (d *delay) warns(words string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.warned, words) {
		d.warned = append(d.warned, words)
		d.say("%s", words)
	}
}

// repeats says that a request is repeated because of err, and until when.
func (d *delay) repeats(err error, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.repeated && d.broken == nil {
		d.repeated = true
		d.say("%v; trying again until %s (--timeout)", err, text.Clock(until, d.now()))
	}
}

// waits says until when the answer to a request is awaited and, if a part of Temper is broken, which one and until when the request is
// sent again, 0 = never. Only its first call asks the API for that; later calls say nothing.
func (d *delay) waits(ctx context.Context, c *client.Client, until, again time.Time) {
	d.mu.Lock()
	asked, began := d.waited, time.Now()
	d.waited = true
	d.mu.Unlock()
	if asked {
		return
	}
	within, cancel := context.WithTimeout(ctx, partsWithin)
	defer cancel()
	st, err := c.Status(within)
	if d.tellBroken(ctx, st, err, until, again) {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(unexplained - client.Patience - time.Since(began)):
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case ctx.Err() != nil || d.repeated: // the answer has come, or it is known why none comes
	case err == nil:
		d.say("the API at %s works on this request; the answer is awaited until %s (--timeout)", c.URL(), text.Clock(until, d.now()))
	default:
		d.say("no answer from the API at %s yet; it is awaited until %s (--timeout)", c.URL(), text.Clock(until, d.now()))
	}
}

// tellBroken says which part of Temper is broken for which an answer may have to wait, and reports whether one is.
func (d *delay) tellBroken(ctx context.Context, st *client.Status, err error, until, again time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil || ctx.Err() != nil {
		return false
	}
	d.answered = true
	for _, p := range st.Parts {
		if p.Broken() && slices.Contains(partsOfAnswers, p.Name) {
			d.broken = append(d.broken, p)
			awaited := ""
			if !d.repeated { // else that is said already
				awaited = "; " + d.awaited(until, again)
			}
			d.say("%s%s", troubleOf(p), awaited)
		}
	}
	return d.broken != nil
}

// awaited says until when an answer is awaited while a part of Temper is broken. The API refuses a request as soon as it knows that.
func (d *delay) awaited(until, again time.Time) string {
	switch {
	case again.IsZero():
		return fmt.Sprintf("the answer is awaited until %s at the latest (--timeout); the request is sent only once", text.Clock(until, d.now()))
	case again.Before(until):
		return fmt.Sprintf("asking again until %s, or until the end of --timeout if that is given", text.Clock(again, d.now()))
	}
	return fmt.Sprintf("the answer is awaited until %s (--timeout)", text.Clock(until, d.now()))
}

// told returns the parts of which was told that they are broken. known is false if the API was not asked, or has not answered.
func (d *delay) told() (broken []client.Part, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken, d.answered
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
