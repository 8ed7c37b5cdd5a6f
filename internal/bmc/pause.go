package bmc

import (
	"errors"
	"fmt"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// later carries the pause that a BMC asked for.
type later struct {
	after time.Duration
	err   error
}

func (l *later) Error() string { return l.err.Error() }
func (l *later) Unwrap() error { return errors.Unwrap(l.err) }

// Busy makes a fault.Busy that says in how long to ask again; format and args
// as in fmt.Errorf. Zero means that the BMC named no pause.
func Busy(after time.Duration, format string, args ...any) error {
	return fault.New(fault.Busy, "%w", &later{after: after, err: fmt.Errorf(format, args...)})
}

// Pause is how long the BMC asked to be left alone, 0 when err doesn't say.
func Pause(err error) time.Duration {
	var l *later
	if errors.As(err, &l) {
		return l.after
	}
	return 0
}
