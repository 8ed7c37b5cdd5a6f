package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/events"
)

// The pauses between two tries of an event.
const (
	firstPause = time.Second
	maxPause   = 5 * time.Minute
)

// delivery is the sending of the events of one webhook, in order.
type delivery struct {
	*Dispatcher
	Leased
	at      int64     // everything up to this number was delivered
	sent    int       // how many were delivered since the last record
	written int64     // the number in the last record
	saved   time.Time // when the last record was written
}

func (d *Dispatcher) deliver(ctx context.Context, l Leased) error {
	after := l.DeliveredThrough
	stream, err := d.Hub.Open(ctx, "", l.Filter, &after)
	if err != nil {
		return err
	}
	defer stream.Close()
	one := delivery{Dispatcher: d, Leased: l, at: after, written: after, saved: time.Now()}
	defer one.finish(ctx)
	for {
		blocks, err := nextBlocks(ctx, stream)
		if err != nil {
			return err
		}
		if len(blocks) > 0 {
			if err := one.sendAll(ctx, blocks); err != nil {
				return err
			}
		}
		if err := one.save(ctx, stream.At(), len(blocks) == 0); err != nil {
			return err
		}
	}
}

// nextBlocks waits for events, and returns none after a while.
func nextBlocks(ctx context.Context, stream *events.Stream) ([]byte, error) {
	wait, cancel := context.WithTimeout(ctx, leaseEvery)
	defer cancel()
	blocks, err := stream.Next(wait)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, nil
	}
	return blocks, err
}

func (o *delivery) sendAll(ctx context.Context, blocks []byte) error {
	list, err := events.Messages(blocks)
	if err != nil {
		return err
	}
	for _, e := range list {
		m, err := messageOf(e, time.Now())
		if err != nil {
			return err
		}
		failed, err := o.try(ctx, m)
		var givenUp *givenUpError
		switch {
		case errors.As(err, &givenUp):
			err = o.giveUp(ctx, m, givenUp.why)
		case err == nil:
			o.sent++
			err = o.save(ctx, m.seq, failed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// givenUpError says that an event is too old to be tried again.
type givenUpError struct{ why error }

func (e *givenUpError) Error() string { return "given up: " + e.why.Error() }

// try sends a message until the endpoint takes it or it is too old; each failure is recorded. An old message is tried once.
// failed reports whether a try has failed.
func (o *delivery) try(ctx context.Context, m message) (failed bool, err error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, maxPause
	limit := backoff.WithMaxElapsedTime(o.GiveUp - time.Since(m.at))
	if time.Since(m.at) >= o.GiveUp {
		limit = backoff.WithMaxTries(1)
	}
	var why error
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		why = o.Sender.send(ctx, o.URL, o.Secret, m.id, m.body)
		if why == nil || ctx.Err() != nil {
			return struct{}{}, why
		}
		if !failed {
			o.Log.Warn("a webhook's endpoint does not take an event; trying again", zap.String("webhook", o.Name), zap.Int64("event", m.seq), zap.Error(why))
		}
		failed = true
		if err := o.save(ctx, o.at, true); err != nil { // what was delivered before it
			return struct{}{}, backoff.Permanent(err)
		}
		if err := o.Store.WebhookFailed(ctx, o.Lease, words(why)); err != nil {
			return struct{}{}, backoff.Permanent(err)
		}
		return struct{}{}, why
	}, backoff.WithBackOff(pauses), limit)
	if err != nil && errors.Is(err, why) && ctx.Err() == nil {
		return failed, &givenUpError{why}
	}
	return failed, err
}

func (o *delivery) giveUp(ctx context.Context, m message, why error) error {
	err := o.Store.GiveUpEvent(ctx, o.Lease, DeadLetter{Seq: m.seq, MessageID: m.id, Type: m.kind, Body: string(m.body), At: m.at, Error: words(why)})
	if err != nil {
		return err
	}
	o.at, o.written = m.seq, m.seq
	o.Log.Error("an event was given up for a webhook", zap.String("webhook", o.Name), zap.Int64("event", m.seq), zap.Error(why))
	return nil
}

// save records how far the webhook is, at most once in saveEvery unless it is to be done now.
func (o *delivery) save(ctx context.Context, at int64, now bool) error {
	o.at = at
	if at == o.written && o.sent == 0 || !now && time.Since(o.saved) < saveEvery {
		return nil
	}
	if err := o.Store.WebhookDelivered(ctx, o.Lease, at, o.sent); err != nil {
		return err
	}
	o.written, o.sent, o.saved = at, 0, time.Now()
	return nil
}

// finish records what was delivered last, so that whoever sends next does not send it again.
func (o *delivery) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := o.save(ctx, o.at, true); err != nil {
		o.Log.Debug("the last deliveries were not recorded; they come again", zap.String("webhook", o.Name), zap.Error(err))
	}
}

// redeliver sends each dead letter that somebody wants sent, once.
func (d *Dispatcher) redeliver(ctx context.Context, l Leased) error {
	for {
		list, err := d.Store.DeadLettersToSend(ctx, l.Lease, 100)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, letter := range list {
			failure := ""
			if err := d.Sender.send(ctx, l.URL, l.Secret, letter.MessageID, []byte(letter.Body)); err != nil {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				failure = words(err)
			}
			if err := d.Store.WebhookRedelivered(ctx, l.Lease, letter, failure); err != nil {
				return fmt.Errorf("redeliver event %d: %w", letter.Seq, err)
			}
		}
	}
}
