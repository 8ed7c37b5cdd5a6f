package watch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

// unchangedLooks is after how many looks that showed nothing new it is asked why. With the usual interval that is every 5 s.
const unchangedLooks = 10

// parts says on standard error when operations stand still because a part of Temper is broken, such as Temporal, although
// the API answers, and when that is over. It is used by one goroutine.
type parts struct {
	client    *client.Client
	now       func() time.Time
	unchanged int
	seen      string               // what the looks have shown
	answers   chan *client.Status  // of the question that is open; nil = none is
	broken    map[string]time.Time // when it was learnt of each that is broken, by name
}

// look notes what a look has shown, and asks if nothing goes on. It does not wait for the answer. It returns what to say.
func (p *parts) look(ctx context.Context, all []*Target) []string {
	seen := ""
	for _, t := range all {
		seen += describe(t) + "\n"
	}
	p.unchanged++
	if seen != p.seen {
		p.seen, p.unchanged = seen, 0
	}
	if p.answers == nil && (p.unchanged >= unchangedLooks || len(p.broken) > 0 && p.unchanged == 0) {
		p.unchanged = 0
		p.ask(ctx)
	}
	select {
	case st := <-p.answers: // never, if none is asked
		p.answers = nil
		return p.take(st)
	default:
		return nil
	}
}

// askIfSlow calls wait, and asks if that has not returned after a second.
func (p *parts) askIfSlow(ctx context.Context, wait func()) {
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(client.Patience):
	}
	if p.answers == nil {
		p.ask(ctx)
	}
	<-done
}

// answerWithin is how long the answer to a question that is open is awaited, after what was looked at was lost.
const answerWithin = time.Second

// whyLost returns what is to be said about the answer to a question that is open, if it comes soon.
func (p *parts) whyLost(ctx context.Context) []string {
	if p.answers == nil {
		return nil
	}
	select {
	case st := <-p.answers:
		p.answers = nil
		return p.take(st)
	case <-ctx.Done():
	case <-time.After(answerWithin):
	}
	return nil
}

func (p *parts) ask(ctx context.Context) {
	answers := make(chan *client.Status, 1)
	p.answers = answers
	go func() {
		st, err := p.client.Status(ctx)
		if err != nil { // then nothing is known; if the API is away, the looks tell
			st = nil
		}
		answers <- st
	}()
}

// worksAgain says of each part without which operations can't be seen or do not go on that it is back.
var worksAgain = map[string]string{"postgresql": "PostgreSQL works again", "temporal": "Temporal works again", "orchestrators": "an orchestrator runs again"}

// take returns what is to be said about a status; nil = not known.
func (p *parts) take(st *client.Status) (words []string) {
	if st == nil {
		return nil
	}
	for _, name := range append([]string{"postgresql"}, client.PartsOfProgress...) {
		i := slices.IndexFunc(st.Parts, func(one client.Part) bool { return one.Name == name })
		if i < 0 {
			continue
		}
		part, since := &st.Parts[i], p.broken[name]
		switch {
		case part.Broken() && since.IsZero():
			p.broken[name] = p.now()
			words = append(words, fmt.Sprintf("temper: %s%s: %s", part.Message, table.Optional(", since ", table.Time(part.Since)), part.Works))
		case !part.Broken() && !since.IsZero():
			delete(p.broken, name)
			words = append(words, fmt.Sprintf("temper: %s, after %s", worksAgain[name], table.Duration(p.now().Sub(since))))
		}
	}
	return words
}
