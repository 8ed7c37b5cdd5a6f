package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"go.temper.dev/temper/test/stack"
)

// awayRows are the rows for requests that are made while Temporal or PostgreSQL is away.
var awayRows = []row{
	{
		name: "asked for while Temporal is away", holds: "accepted, and runs once when it is back", points: named("asked for"), judge: once,
		happen: func(ctx context.Context, r *round) error {
			if _, err := r.another(ctx, "heir"); err != nil {
				return err
			}
			if err := r.signal("temporal", syscall.SIGSTOP); err != nil {
				return err
			}
			err := errors.Join(r.start(ctx), r.stay(ctx, 5*time.Second), r.signal("temporal", syscall.SIGCONT))
			r.happen()
			return errors.Join(err, r.over(ctx, patience))
		},
	},
	{
		name: "asked for while PostgreSQL is away", holds: "refused with 503, and nothing comes of it; asked for again it runs once", points: named("asked for"), judge: once,
		happen: func(ctx context.Context, r *round) error {
			if _, err := r.another(ctx, "heir"); err != nil {
				return err
			}
			err := r.stopped("postgres", func() error { return r.unavailable(ctx) })
			if err = errors.Join(err, r.answering(ctx)); err != nil {
				return err
			}
			return errors.Join(r.untried(ctx), r.start(ctx), r.over(ctx, patience))
		},
	},
	{
		name: "asked for until it is accepted, while PostgreSQL is killed and started again", holds: "refused with 503 until then; runs once", points: named("asked for"), judge: once,
		happen: func(ctx context.Context, r *round) error {
			if _, err := r.another(ctx, "heir"); err != nil {
				return err
			}
			if err := r.kill("postgres"); err != nil {
				return err
			}
			return errors.Join(r.insist(ctx), r.over(ctx, patience))
		},
	},
}

// unavailable requests all operations, each of which must be refused with 503.
func (r *round) unavailable(ctx context.Context) error {
	return each(r.subjects(), func(i int, s *subject) error {
		t := r.trials[i]
		id, err := r.ask(ctx, s, t.k)
		if !refusedWith503(err) {
			return fmt.Errorf("%s: it was not refused with 503: operation %q, %w", t.point, id, err)
		}
		return nil
	})
}

func refusedWith503(err error) bool {
	var refused *stack.Refused
	return errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable
}

// untried judges that the refused requests have changed nothing.
func (r *round) untried(ctx context.Context) error {
	open, err := r.Open(ctx)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return fmt.Errorf("what was refused is done: %v", open)
	}
	return each(r.subjects(), func(i int, s *subject) error {
		n, err := r.Show(ctx, s.uuid)
		if err == nil && (n.State != string(r.trials[i].k.from) || n.Reservation != "") {
			err = fmt.Errorf("%s: the node is %q, held by %q", r.trials[i].point, n.State, n.Reservation)
		}
		return err
	})
}

// insist repeats the request of each operation until it is accepted.
func (r *round) insist(ctx context.Context) error {
	return each(r.subjects(), func(i int, s *subject) error {
		t := r.trials[i]
		var other error // an error other than 503
		err := stack.Await(ctx, patience, func() (err error) {
			if t.id, err = r.ask(ctx, s, t.k); err != nil && !refusedWith503(err) {
				other, err = err, nil
			}
			return err
		})
		if err = errors.Join(err, other); err == nil && t.id == "" {
			err = errors.New("the answer names no operation")
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", t.point, err)
		}
		return err
	})
}
