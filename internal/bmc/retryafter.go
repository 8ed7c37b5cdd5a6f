package bmc

import (
	"errors"
	"fmt"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// busyError carries the Retry-After of a BMC's answer.
type busyError struct {
	after time.Duration
	err   error
}

func (e *busyError) Error() string { return e.err.Error() }
func (e *busyError) Unwrap() error { return errors.Unwrap(e.err) }

// Busy returns a fault.Busy with the time after which the BMC may be asked again, 0 if
// the BMC named none. format and args are those of fmt.Errorf.
func Busy(after time.Duration, format string, args ...any) error {
	return fault.Coded(fault.BMCBusy, "%w", &busyError{after: after, err: fmt.Errorf(format, args...)})
}

// RetryAfter returns the time that Busy put into err, 0 if there is none.
func RetryAfter(err error) time.Duration {
	var busy *busyError
	if errors.As(err, &busy) {
		return busy.after
	}
	return 0
}
