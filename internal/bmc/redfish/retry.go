package redfish

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	readTries  = 2                      // how often one GET is sent
	resetPause = 100 * time.Millisecond // before a GET whose connection broke is sent again
)

// fetch makes a GET, and once more where the connection broke or the BMC said
// "later" and later is still within the request timeout. An answer of any other
// status is no error. (Go's transport itself repeats a GET on a kept connection
// that the BMC had closed meanwhile; that comes on top.) Only reading is ever repeated: a change whose answer was
// lost is for the caller to read back.
func (e *endpoint) fetch(ctx context.Context, path string, p pass) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, e.conf.RequestTimeout)
	defer cancel()
	until, _ := ctx.Deadline()
	var last *answer // an answer of 503 is told as it is when there is no time for more
	a, err := backoff.Retry(ctx, func() (*answer, error) {
		a, err := e.send(ctx, request{method: http.MethodGet, path: path}, p)
		last = a
		var broken *lost
		switch {
		case err == nil && a.status != http.StatusServiceUnavailable:
			return a, nil
		case err == nil:
			pause, asked := a.pause()
			if !asked {
				pause = resetPause
			}
			if time.Now().Add(pause).After(until) {
				return nil, backoff.Permanent(errLater)
			}
			return nil, &backoff.RetryAfterError{Duration: pause}
		case errors.As(err, &broken) && broken.reset && time.Now().Add(resetPause).Before(until):
			return nil, err
		}
		return nil, backoff.Permanent(err)
	}, backoff.WithMaxTries(readTries), backoff.WithBackOff(backoff.NewConstantBackOff(resetPause)))
	switch {
	case err == nil:
		return a, nil
	case last != nil:
		return last, nil
	}
	if stop := cancelled(ctx, false); stop != nil {
		return nil, stop
	}
	return nil, err
}

// errLater ends the tries of a GET for which the BMC wants more time than there is.
var errLater = errors.New("the BMC says later")
