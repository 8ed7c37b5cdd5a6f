package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/client"
)

// The time limits of requests.
const (
	lookWithin = 4 * time.Second // so soon an outage is noticed
	lastLook   = 2 * time.Second // when the time is up
	maxPause   = 2 * time.Second // between two tries in an outage
)

// errNoAnswer means that the time was up before a request was answered.
var errNoAnswer = errors.New("the API does not answer")

// PollOnce reads once how far all of them are, a few at a time. What becomes of an operation later is no error.
func PollOnce(ctx context.Context, c *client.Client, all []*Target, parallel int) {
	var g errgroup.Group
	g.SetLimit(parallel)
	for _, t := range all {
		g.Go(func() error {
			if away := t.poll(ctx, c); away != nil {
				t.Done, t.Err = true, away
			}
			if t.ID != "" {
				t.Err = nil // it was accepted, and nobody waits for its end
			}
			return nil
		})
	}
	_ = g.Wait() // never fails
}

// Watcher follows operations, through outages of the API and its database, and says if they stand still because of Temporal.
type Watcher struct {
	options Options
	client  *client.Client
	view    View
	sight   sight
	parts   parts
	until   time.Time // zero = without a limit
}

// New returns a Watcher that shows operations in v, and outages as lines on notes. The time of o counts from now on.
func New(o Options, c *client.Client, v View, notes io.Writer, now func() time.Time) *Watcher {
	once := c.Once(lookWithin)
	w := &Watcher{
		options: o, client: once, view: v, sight: sight{out: notes, now: now}, parts: parts{client: once, now: now, broken: map[string]time.Time{}},
	}
	if limit := o.limit(); limit > 0 {
		w.until = time.Now().Add(limit)
	}
	return w
}

// limited returns ctx with the time limit.
func (w *Watcher) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.until.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, w.until)
}

// Await asks until the API answers, the time is up or ctx ends. what is what the user waits to see: "operation 7".
func (w *Watcher) Await(ctx context.Context, what string, ask func(context.Context, *client.Client) error) error {
	limited, cancel := w.limited(ctx)
	defer cancel()
	for tries := 0; ; tries++ {
		err := ask(limited, w.client)
		if limited.Err() == nil && !client.Away(err) {
			w.sight.say(w.view, w.sight.regain(what+" is"))
			return err
		}
		if limited.Err() == nil {
			w.sight.say(w.view, w.sight.lose(what, err))
		}
		if !w.pause(limited, 1, tries) {
			return w.unseen(ctx, what)
		}
	}
}

// Follow reads all of them, at most parallel at a time, and shows them until each is done, the time is up or ctx ends. What
// went wrong is in their Err.
func (w *Watcher) Follow(ctx context.Context, all []*Target, parallel int) {
	limited, cancel := w.limited(ctx)
	defer cancel()
	for tries := 0; ; tries++ {
		w.look(limited, all, parallel)
		if !w.sight.lost() {
			tries = 0
			for _, words := range w.parts.look(limited, all) {
				w.sight.say(w.view, words)
			}
		}
		w.view.update(all)
		if left := countOpen(all); left == 0 || !w.pause(limited, left, tries) {
			break
		}
	}
	if ctx.Err() == nil && countOpen(all) > 0 {
		// Only now it is known whether the API answers at the end.
		last, cancel := context.WithTimeout(ctx, lastLook)
		defer cancel()
		w.look(last, all, parallel)
		if last.Err() != nil && !w.sight.lost() {
			w.sight.err = errNoAnswer
		}
		w.view.update(all)
	}
	for _, t := range all {
		if !t.Done {
			t.Err = w.unfinished(ctx, t)
		}
		t.Name = cmp.Or(t.Name, t.what())
	}
}

// look reads once how far those are that are not done, and says whether they can be seen.
func (w *Watcher) look(ctx context.Context, all []*Target, parallel int) {
	var g errgroup.Group
	g.SetLimit(parallel)
	var mu sync.Mutex
	var away error
	what, verb := nameOpen(all) // before they are read, which changes them
	for _, t := range all {
		if t.Done {
			continue
		}
		g.Go(func() error {
			err := t.poll(ctx, w.client)
			mu.Lock()
			defer mu.Unlock()
			if away == nil {
				away = err
			}
			return nil
		})
	}
	w.parts.askIfSlow(ctx, func() { _ = g.Wait() }) // never fails
	switch {
	case away != nil:
		w.sight.say(w.view, w.sight.lose(what, away))
		for _, words := range w.parts.whyLost(ctx) {
			w.sight.say(w.view, words)
		}
	case ctx.Err() == nil:
		w.sight.say(w.view, w.sight.regain(what+" "+verb))
	}
}

// pausePerTarget times the number of open operations is the shortest pause: the more they are, the less often each is read.
const pausePerTarget = 10 * time.Millisecond

// pause waits until it is time to ask again. In an outage it waits longer with each try. It returns false if ctx ended before.
func (w *Watcher) pause(ctx context.Context, open, tries int) bool {
	d := max(w.options.Interval, time.Duration(open)*pausePerTarget)
	if w.sight.lost() {
		d = max(d, min(w.options.Interval<<min(tries, 16), maxPause))
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func countOpen(all []*Target) (n int) {
	for _, t := range all {
		if !t.Done {
			n++
		}
	}
	return n
}

// nameOpen names what is not done, with the verb that follows: "operation 7" and "is".
func nameOpen(all []*Target) (what, verb string) {
	for _, t := range all {
		if !t.Done {
			what = t.what()
		}
	}
	if n := countOpen(all); n > 1 {
		return fmt.Sprintf("%d operations", n), "are"
	}
	return what, "is"
}
