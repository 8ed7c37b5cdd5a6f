package main

import "context"

// missed is a limit of time that was not kept: on a busy machine that says nothing about what was done.
type missed struct{ why error }

func (m *missed) Error() string { return m.why.Error() }

// wrong reports whether an error says more than that limits of time were missed.
func wrong(err error) bool {
	switch e := err.(type) { //nolint:errorlint // all that is joined or wrapped is looked at
	case nil, *missed:
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

// limit makes a failed wait for something that is still waited for a limit of time that was missed: whether it comes at
// all is judged later.
func limit(err error) error {
	if err == nil {
		return nil
	}
	return &missed{err}
}

// becomes waits until what has ended shows as it must: what is shown may lag behind, and the more so the busier the
// machine is. What does not become so in all that time is wrong, and not late.
func becomes(ctx context.Context, cond func() error) error { return await(ctx, patience, cond) }
