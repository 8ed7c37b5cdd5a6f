package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// row is something that happens.
type row struct {
	name   string
	holds  string                                    // what must hold, beside what must always
	points func(k kind) ([]point, error)             // where it happens
	happen func(ctx context.Context, r *round) error // and the round has begun; returns when all operations have ended
	within time.Duration                             // no case may take longer until somebody else is at work
}

const elsewhere = 30 * time.Second

var rows = []row{
	{
		name: "conductor killed", holds: "goes on at the same step on another conductor", within: 15 * time.Second,
		points: points,
		happen: func(ctx context.Context, r *round) error {
			if err := r.held(ctx, false); err != nil {
				return err
			}
			if err := r.victim.signal(syscall.SIGKILL); err != nil {
				return err
			}
			r.happen()
			return errors.Join(r.taken(ctx, elsewhere), r.over(ctx, patience))
		},
	},
	{
		name: "conductor told to stop", holds: "handed over at once",
		points: handedOver,
		happen: func(ctx context.Context, r *round) error {
			if err := r.held(ctx, false); err != nil {
				return err
			}
			if err := r.victim.signal(syscall.SIGTERM); err != nil {
				return err
			}
			r.happen()
			return errors.Join(r.taken(ctx, elsewhere), r.over(ctx, patience))
		},
	},
	{
		name: "conductor frozen, and continued", holds: "goes on elsewhere; what the frozen one still tries is refused", within: 15 * time.Second,
		points: points,
		happen: func(ctx context.Context, r *round) error {
			if err := r.held(ctx, true); err != nil {
				return err
			}
			return r.freeze(ctx, r.victim)
		},
	},
}

// held brings all operations to their points on the victim, and starts one that may go on with them.
func (r *round) held(ctx context.Context, deaf bool, env ...string) error {
	if err := r.begin(ctx, deaf, env...); err != nil {
		return err
	}
	_, err := r.another(ctx, "heir")
	return err
}

// freeze stops processes until all their work is in other hands, and lets them go on where they were.
func (r *round) freeze(ctx context.Context, all ...*conductor) error {
	for _, c := range all {
		if err := c.signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	r.happen()
	err := r.taken(ctx, elsewhere)
	err = errors.Join(err, r.victim.release())
	for _, c := range all {
		err = errors.Join(err, c.signal(syscall.SIGCONT))
	}
	if err = errors.Join(err, r.over(ctx, patience)); err != nil {
		return err
	}
	lost, err := r.victim.lost(ctx)
	if err == nil && lost == 0 {
		err = fmt.Errorf("%s was refused nothing when it came back", r.victim.name)
	}
	return err
}

// handedOver are the points from which a step is handed over when its conductor is told to stop: where all is recorded
// already there is nothing left to hand over.
func handedOver(k kind) ([]point, error) {
	all, err := points(k)
	var some []point
	for _, p := range all {
		if p.Name != "recorded" {
			some = append(some, p)
		}
	}
	return some, err
}
