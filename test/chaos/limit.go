package main

import (
	"context"

	"go.temper.dev/temper/test/stack"
)

// missed is the error of a case that was right but exceeded a time limit, as may happen on a busy machine.
type missed struct{ why error }

func (m *missed) Error() string { return m.why.Error() }

// wrong reports whether an error says more than that time limits were exceeded.
func wrong(err error) bool {
	switch e := err.(type) { //nolint:errorlint // every joined and wrapped error is examined
	case nil, *missed, *stalled:
		return false
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if wrong(one) {
				return true
			}
		}
		return false
	case interface{ Unwrap() error }:
		return wrong(e.Unwrap())
	}
	return true
}

// limit turns the error of a wait that was too short into a missed. Whether what was waited for comes at all is judged
// later.
func limit(err error) error {
	if err == nil {
		return nil
	}
	return &missed{err}
}

// becomes waits until an operation that has ended is shown as it must be. What is shown lags behind, the more so on a busy
// machine. If it is not as it must be even then, the case is wrong, not late.
func becomes(ctx context.Context, cond func() error) error { return stack.Await(ctx, patience, cond) }
