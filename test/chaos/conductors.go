package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/test/stack"
	"go.temper.dev/temper/test/valve"
)

// How long a step may be interrupted, and how many cases are timed at once: as many as two processors can handle in that
// time beside their other work.
const (
	onWithin   = 10 * time.Second
	handedOver = 500 * time.Millisecond // from SIGTERM
	someTimed  = 55
	fewTimed   = 6
	allAtOnce  = 230 // of rows that wait for a minute
)

var conductorRows = []row{
	{
		name: "conductor killed", holds: "goes on at the same step elsewhere", within: onWithin, atOnce: someTimed, points: points,
		happen: func(ctx context.Context, r *round) error {
			return r.lose(ctx, false, func() error { return r.victim.signal(syscall.SIGKILL) })
		},
	},
	{
		name: "conductor told to stop", holds: "handed over at once", within: handedOver, atOnce: fewTimed, points: atWork,
		happen: func(ctx context.Context, r *round) error {
			return r.lose(ctx, false, func() error { return r.victim.signal(syscall.SIGTERM) })
		},
	},
	{
		name: "conductor frozen, and continued", holds: "goes on elsewhere; what the frozen one still tries is refused and counted",
		within: onWithin, atOnce: someTimed, points: points,
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, true); err != nil {
				return err
			}
			return r.freeze(ctx)
		},
	},
	{
		name: "two conductors frozen in a row", holds: "the same", within: 2 * onWithin, atOnce: 2 * someTimed, points: points,
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, true); err != nil {
				return err
			}
			// Its open polls may swallow an attempt each, as the victim's do.
			idle, err := r.conductor(ctx, r.name("idle"))
			if err != nil {
				return err
			}
			return errors.Join(idle.signal(syscall.SIGSTOP), r.freeze(ctx), idle.end())
		},
	},
}

var cutRows = []row{
	{
		name: "conductor cut off from PostgreSQL", holds: "goes on elsewhere", within: onWithin, atOnce: someTimed, points: atWork,
		happen: func(ctx context.Context, r *round) error {
			return r.cut(ctx, "postgresql")
		},
	},
	{
		name: "conductor cut off from Temporal", holds: "goes on elsewhere", within: onWithin, atOnce: someTimed, points: atWork,
		happen: func(ctx context.Context, r *round) error {
			return r.cut(ctx, "temporal")
		},
	},
	{
		name: "conductor cut off from the BMCs", holds: "goes on elsewhere", within: onWithin, atOnce: someTimed, points: speaking,
		happen: func(ctx context.Context, r *round) error {
			return r.cut(ctx, "bmc")
		},
	},
}

// lose brings all operations to their points on the victim, and then ends it.
func (r *round) lose(ctx context.Context, deaf bool, take func() error) error {
	if err := r.held(ctx, deaf); err != nil {
		return err
	}
	r.happen()
	if err := take(); err != nil {
		return err
	}
	return errors.Join(r.taken(ctx, elsewhere), r.over(ctx, patience))
}

// held brings all operations to their points on the victim, and starts a conductor that may continue them.
func (r *round) held(ctx context.Context, deaf bool, env ...string) error {
	if err := r.begin(ctx, deaf, env...); err != nil {
		return err
	}
	_, err := r.another(ctx, "heir")
	return err
}

// freeze freezes the victim until other conductors have all its work, and continues it while they are still at work.
func (r *round) freeze(ctx context.Context) error {
	p, err := newPost(r.folder(r.name("heir")))
	if err != nil {
		return err
	}
	for _, t := range r.trials {
		if err := p.arm(t.s.uuid, chaos.Arm{Point: chaos.Point{Name: chaos.Claimed}}); err != nil {
			return err
		}
	}
	heir, err := r.join(ctx, r.name("heir"), p)
	if err != nil {
		return err
	}
	r.others = append(r.others, heir)
	if err := r.victim.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	r.happen()
	err = errors.Join(r.taken(ctx, elsewhere), r.victim.release(), r.victim.signal(syscall.SIGCONT))
	err = errors.Join(err, stack.Await(ctx, 20*time.Second, func() error {
		lost, err := r.victim.lost(ctx)
		if err == nil && lost == 0 {
			err = fmt.Errorf("%s was refused nothing when it came back", r.victim.name)
		}
		return err
	}))
	return errors.Join(err, heir.release(), r.over(ctx, patience))
}

// cut cuts the victim off from one service, and lets it try to continue.
func (r *round) cut(ctx context.Context, service string) error {
	var v *valve.Valve
	var env string
	switch service {
	case "postgresql":
		through, url, err := behind(r.DatabaseURL)
		if err != nil {
			return err
		}
		v, env = through, "TEMPER_DATABASE_URL="+url
	case "temporal":
		through, err := valve.New(r.TemporalAddress)
		if err != nil {
			return err
		}
		v, env = through, "TEMPER_TEMPORAL_ADDRESS="+through.Address()
	default:
		p, err := valve.NewProxy()
		if err != nil {
			return err
		}
		defer func() { _ = p.Close() }()
		v, env = p.Valve, "TEMPER_BMC_PROXY="+p.URL()
	}
	defer func() { _ = v.Close() }()
	if err := r.held(ctx, false, env); err != nil {
		return err
	}
	v.Hold()
	r.happen()
	if err := r.victim.release(); err != nil {
		return err
	}
	// The victim is ended before the valve opens, because what it would still send would disturb the next row.
	return errors.Join(r.taken(ctx, time.Minute), r.over(ctx, patience), r.victim.signal(syscall.SIGKILL))
}

// allWait waits until every operation says that it waits for something.
func (r *round) allWait(ctx context.Context, what string) error {
	return stack.Await(ctx, time.Minute, func() error {
		open, err := r.Open(ctx)
		if err != nil {
			return err
		}
		for _, t := range r.trials {
			if o, ok := open[t.id]; !ok || !strings.Contains(o.WaitingFor, what) {
				return fmt.Errorf("%s does not wait for %s: %s", t.point, what, o)
			}
		}
		return nil
	})
}

// atWork returns the points at which a conductor works on a step. After the last record nothing is left to hand over.
func atWork(k kind) ([]point, error) {
	return where(k, func(p point) bool { return p.Name != chaos.Recorded })
}

// speaking returns the points after which a request to the BMC follows.
func speaking(k kind) ([]point, error) {
	return where(k, func(p point) bool {
		return p.Name == chaos.Request && !strings.Contains(p.Request, ".")
	})
}

func where(k kind, wanted func(point) bool) ([]point, error) {
	all, err := points(k)
	var some []point
	for _, p := range all {
		if wanted(p) {
			some = append(some, p)
		}
	}
	return some, err
}
