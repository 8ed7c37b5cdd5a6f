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

// fetch sends a GET. It sends it once more if the connection broke or the BMC answered
// 503, and the time to wait is within the time that this BMC has for answers. An answer of any other status
// is no error. (In addition, Go's transport repeats a GET on a kept connection that the
// BMC had closed.) Only reads are repeated: if the answer to a change is lost, the caller
// must read back what became of it.
func (e *endpoint) fetch(ctx context.Context, path string, p login) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, e.within())
	defer cancel()
	until, _ := ctx.Deadline()
	var last *answer // returned when there is no time to try again
	a, err := backoff.Retry(ctx, func() (*answer, error) {
		a, err := e.send(ctx, request{method: http.MethodGet, path: path}, p)
		last = a
		var broken *lostAnswer
		switch {
		case err == nil && a.status != http.StatusServiceUnavailable:
			return a, nil
		case err == nil:
			pause, asked := a.retryAfter()
			if !asked {
				pause = resetPause
			}
			if time.Now().Add(pause).After(until) {
				return nil, backoff.Permanent(errRetryTooLate)
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

// errRetryTooLate ends the retries of a GET if Retry-After is later than the deadline.
var errRetryTooLate = errors.New("the BMC asks for more time than there is")
