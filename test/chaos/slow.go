package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
	"go.temper.dev/temper/test/valve"
)

const (
	// slowRequest is how long the BMC takes for a request. Meanwhile others take the step of the conductor that sent it.
	slowRequest = 9 * time.Second
	// slowAnswer is how long that conductor waits for the answer.
	slowAnswer = "TEMPER_BMC_REQUEST_TIMEOUT=12s"
	// lateRequest is longer than a conductor waits for the answer of a BMC that it does not know.
	lateRequest = 6 * time.Second
)

var slowRows = []row{
	{
		name: "conductor killed in a slow request", holds: "repeated at once; nothing else is sent before it can take no effect any more",
		within: onWithin, atOnce: someTimed, points: slow, judge: sameEffects,
		happen: func(ctx context.Context, r *round) error {
			return r.loseSlowly(ctx, func() error { return r.victim.signal(syscall.SIGKILL) }, func() error { return nil })
		},
	},
	{
		name: "conductor frozen in a slow request, and continued", holds: "the same", within: onWithin, atOnce: someTimed, points: slow, judge: sameEffects,
		happen: func(ctx context.Context, r *round) error {
			return r.loseSlowly(ctx, func() error { return r.victim.signal(syscall.SIGSTOP) }, func() error { return r.victim.signal(syscall.SIGCONT) })
		},
	},
	{
		name: "conductor cut off from Temporal in a slow request", holds: "the same", within: onWithin, atOnce: someTimed, points: slow, judge: sameEffects,
		happen: func(ctx context.Context, r *round) error {
			v, err := valve.New(r.TemporalAddress)
			if err != nil {
				return err
			}
			defer func() { _ = v.Close() }()
			cut := func() error { v.Hold(); return nil }
			err = r.loseSlowly(ctx, cut, func() error { return nil }, "TEMPER_TEMPORAL_ADDRESS="+v.Address())
			return errors.Join(err, r.victim.signal(syscall.SIGKILL))
		},
	},
	{
		name: "workflow cancelled in a slow request", holds: "undone when the request can take no effect any more; ends in the state that the table names",
		points: slow, judge: failed(""),
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, false, slowAnswer); err != nil {
				return err
			}
			if err := r.sendSlowly(ctx); err != nil {
				return err
			}
			r.happen()
			return errors.Join(r.workflows(ctx, cancel), r.over(ctx, patience), r.landed(ctx, slowRequest), r.ends(ctx))
		},
	},
	{
		name: "a request takes effect after its answer was given up", holds: "repeated; nothing else is sent while it may still take effect",
		points: slow, judge: sameEffects,
		happen: func(ctx context.Context, r *round) error {
			err := r.spoiled(ctx, func(t *trial) []fault { return []fault{t.late(lateRequest)} })
			return errors.Join(err, r.landed(ctx, lateRequest))
		},
	},
}

// slow returns the points right before each request to a BMC that may be repeated.
func slow(k kind) ([]point, error) {
	return where(k, func(p point) bool {
		return p.Name == chaos.Request && !strings.Contains(p.Request, ".") && p.Request != bmc.ForceRestart
	})
}

// late is a fault that makes the request before which the operation is stopped take effect after d, whatever becomes of
// the client.
func (t *trial) late(d time.Duration) fault {
	f := fault{"kind": "latency", "when": "late", "count": 1, "delay": d.String()}
	t.strikes(f)
	return f
}

// strikes makes a fault strike the request to the BMC before which the operation is stopped.
func (t *trial) strikes(f fault) {
	f["method"] = http.MethodPost
	switch {
	case strings.HasPrefix(t.Request, "boot"), t.k.column == node.KindSecureBoot:
		f["method"] = http.MethodPatch
	case t.Request == bmc.NameCreateVolume:
		f["path"] = "/Volumes"
	case t.Request == "delete a volume":
		f["path"], f["method"] = "/Volumes", http.MethodDelete
	case t.k.column == node.KindBMCPassword: // which also logs in by POST
		f["path"] = "/AccountService/Accounts"
		switch {
		case strings.HasPrefix(t.Request, "password"):
			f["method"] = http.MethodPatch
		case strings.HasPrefix(t.Request, "remove"):
			f["method"] = http.MethodDelete
		}
	}
}

// loseSlowly lets the victim send all requests to slow BMCs, and then takes it away until others have its work.
func (r *round) loseSlowly(ctx context.Context, take, giveBack func() error, env ...string) error {
	if err := r.held(ctx, false, append(env, slowAnswer)...); err != nil {
		return err
	}
	if err := r.sendSlowly(ctx); err != nil {
		return err
	}
	r.happen()
	if err := take(); err != nil {
		return err
	}
	err := errors.Join(r.taken(ctx, elsewhere), giveBack(), r.over(ctx, patience))
	return errors.Join(err, r.landed(ctx, slowRequest))
}

// sendSlowly lets the victim go on, and returns when all requests have arrived at slow BMCs.
func (r *round) sendSlowly(ctx context.Context) error {
	err := each(r.subjects(), func(i int, s *subject) error { return r.Spoil(ctx, s.server, []fault{r.trials[i].late(slowRequest)}) })
	if err != nil {
		return err
	}
	if err := r.victim.release(); err != nil {
		return err
	}
	return stack.Await(ctx, slowRequest, func() error {
		return each(r.subjects(), func(i int, s *subject) error {
			left, err := r.Left(ctx, s.server)
			if err == nil && len(left) > 0 {
				err = fmt.Errorf("%s: the request was not sent", r.trials[i].point)
			}
			return err
		})
	})
}

// landed waits until requests that take so long have taken effect.
func (r *round) landed(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(time.Until(r.began.Add(d + time.Second))):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
