package main

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/test/valve"
)

var storageRows = []row{
	{name: "Temporal killed and started again", holds: "runs on", points: points, happen: func(ctx context.Context, r *round) error {
		return r.through(ctx, func() error { return r.kill("temporal") })
	}},
	{name: "Temporal gone for a minute", holds: "runs on", points: atWork, atOnce: allAtOnce, happen: func(ctx context.Context, r *round) error {
		return r.through(ctx, func() error { return r.pause(ctx, "temporal", time.Minute) })
	}},
	{name: "PostgreSQL killed and started again", holds: "runs on", points: points, happen: func(ctx context.Context, r *round) error {
		return r.through(ctx, func() error { return r.kill("postgres") })
	}},
	{name: "PostgreSQL gone for a minute", holds: "runs on", points: atWork, atOnce: allAtOnce, happen: func(ctx context.Context, r *round) error {
		return r.through(ctx, func() error { return r.pause(ctx, "postgres", time.Minute) })
	}},
	{name: "PostgreSQL's clock an hour ahead", holds: "nobody is taken for dead", points: atWork, happen: func(ctx context.Context, r *round) error {
		return r.through(ctx, func() error { return r.shift(ctx, "-1 hour") })
	}},
	{name: "PostgreSQL's clock an hour back", holds: "nobody is taken for dead", points: atWork, happen: func(ctx context.Context, r *round) error {
		return r.through(ctx, func() error { return r.shift(ctx, "1 hour") })
	}},
}

// through brings all operations to their points, does something to all of them there, and lets them continue.
func (r *round) through(ctx context.Context, what func() error) error {
	if err := r.begin(ctx, false); err != nil {
		return err
	}
	r.happen()
	return errors.Join(what(), r.victim.release(), r.over(ctx, 2*patience))
}

// pause stops a role, with the processes that it has started, for a while.
func (l *lab) pause(ctx context.Context, role string, d time.Duration) error {
	return l.stopped(role, func() error {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
		return nil
	})
}

// stopped stops a role, with the processes that it has started, while something is done.
func (l *lab) stopped(role string, do func() error) error {
	thaw, err := l.Freeze(role)
	if err != nil {
		return err
	}
	defer thaw()
	return do()
}

// shift moves all times in the database at which processes were last heard of, which has the effect of a step of the clock.
func (l *lab) shift(ctx context.Context, by string) error {
	db, err := pgx.Connect(ctx, l.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	_, err = db.Exec(ctx, `WITH c AS (UPDATE conductors SET heartbeat_at = heartbeat_at + $1::interval, polled_at = polled_at + $1::interval)
		UPDATE witness SET seen_at = seen_at + $1::interval, contact_at = contact_at + $1::interval`, by)
	return err
}

// behind puts a valve before the database.
func behind(database string) (*valve.Valve, string, error) {
	u, err := url.Parse(database)
	if err != nil {
		return nil, "", err
	}
	v, err := valve.New(u.Host)
	if err != nil {
		return nil, "", err
	}
	u.Host = v.Address()
	return v, u.String(), nil
}
