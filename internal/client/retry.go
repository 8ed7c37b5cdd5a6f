package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"go.temper.dev/temper/internal/fault"
)

// The pauses between tries.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = 3 * time.Second
)

// retry calls ask until it succeeds, passes reports that its error is permanent, ctx ends, or limit is over; an ask that has begun by
// then is not cut off. Only requests that read or have an idempotency key may be retried.
func (c *Client) retry(ctx context.Context, limit time.Duration, passes func(*Error) bool, ask func() (http.Header, error)) (http.Header, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, maxPause
	var last error
	until, _ := ctx.Deadline()
	if end := time.Now().Add(limit); end.Before(until) {
		until = end
	}
	h, err := backoff.Retry(ctx, func() (http.Header, error) {
		h, err := ask()
		var e *Error
		switch {
		case err == nil:
			return h, nil
		case ctx.Err() == nil || last == nil:
			last = err // an error before the deadline says more than the deadline itself
		}
		if !errors.As(err, &e) || !passes(e) {
			return nil, backoff.Permanent(err)
		}
		if e.retryAfter > 0 {
			return nil, &backoff.RetryAfterError{Duration: e.retryAfter}
		}
		return nil, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(limit),
		backoff.WithNotify(func(error, time.Duration) { c.retrying(last, until) }))
	switch {
	case err == nil:
		return h, nil
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled): // the caller has given up
		return nil, context.Cause(ctx)
	}
	return nil, last
}

// retryOnce is retry for a request that takes effect once. As long as what it needs is away, it is sent again for as long as one that
// reads; from when on it may have been accepted, until the end of its time.
func (c *Client) retryOnce(ctx context.Context, ask func() (http.Header, error)) (http.Header, error) {
	h, err := c.retry(ctx, c.repeatFor, (*Error).unheard, ask)
	var e *Error
	if !errors.As(err, &e) || !e.lost() {
		return h, err
	}
	first := err
	h, err = c.retry(ctx, c.timeout, func(e *Error) bool { return e.lost() || e.temporary() }, func() (http.Header, error) {
		if first != nil { // that answer is missing already
			err := first
			first = nil
			return nil, err
		}
		return ask()
	})
	if errors.As(err, &e) {
		e.doubt = true
	}
	return h, err
}

// unheard reports whether nobody has judged the request: the API, or its database, is away.
func (e *Error) unheard() bool {
	return e.temporary() && (e.Stage == Unreached || e.Code == fault.DatabaseUnavailable || e.Code == fault.DatabaseTimeout)
}

// temporary reports whether the same request may succeed a little later.
func (e *Error) temporary() bool {
	return !e.final && (e.Stage == Unreached || e.Stage == Lost || e.Status == http.StatusServiceUnavailable)
}

// lost reports whether the request may have been accepted, and only the answer is missing.
func (e *Error) lost() bool { return !e.final && (e.Stage == Lost || e.Code == fault.RequestInDoubt) }

// retryAfter returns the header Retry-After; 0 if there is none.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 || s > 3600 {
		return 0
	}
	return time.Duration(s) * time.Second
}
