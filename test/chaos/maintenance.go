package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/test/stack"
)

var maintenanceRows = []row{
	{
		name: "maintenance set, and lifted", holds: "the step that runs ends, the operation pauses, says so, and goes on", points: atWork,
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, false); err != nil {
				return err
			}
			if err := errors.Join(r.maintenance(ctx, http.MethodPut), r.victim.release(), r.paused(ctx)); err != nil {
				return err
			}
			return errors.Join(r.maintenance(ctx, http.MethodDelete), r.over(ctx, patience))
		},
	},
	{
		name: "maintenance set, and then the conductor killed", holds: "fails into the state that the table names, the hardware is not touched; the undo is done when it is lifted",
		points: begun, within: 30 * time.Second, judge: untouched,
		happen: func(ctx context.Context, r *round) error {
			if err := r.held(ctx, false); err != nil {
				return err
			}
			return r.loseInMaintenance(ctx)
		},
	},
}

// loseInMaintenance sets the maintenance of all nodes, and kills the victim, which is at work on them.
func (r *round) loseInMaintenance(ctx context.Context) error {
	if err := errors.Join(r.maintenance(ctx, http.MethodPut), r.victim.signal(syscall.SIGKILL)); err != nil {
		return err
	}
	r.happen()
	if s := r.stalled(nil); s != nil { // what was handed over rests, and would be waited for in vain
		return s
	}
	return errors.Join(r.over(ctx, patience), r.ends(ctx))
}

// begun returns the points at which a step has begun. An operation that has touched nothing yet pauses instead, and requests
// for the power or to the management interface are allowed in maintenance.
func begun(k kind) ([]point, error) {
	if !k.column.Provisions() {
		return nil, nil
	}
	return where(k, func(p point) bool { return p.Name != chaos.Claimed && p.Name != chaos.Recorded })
}

// maintenance sets or lifts the maintenance of all nodes.
func (r *round) maintenance(ctx context.Context, method string) error {
	return each(r.subjects(), func(i int, s *subject) error {
		if sv, err := r.Server(ctx, s.server); err == nil && method == http.MethodPut {
			r.trials[i].seen = since(r.trials[i].k, s.before, sv).requests
		}
		return r.Call(ctx, method, "/v1/nodes/"+s.uuid+"/maintenance", nil, nil)
	})
}

// paused waits until every open operation is in the state paused.
func (r *round) paused(ctx context.Context) error {
	return stack.Await(ctx, patience, func() error {
		open, err := r.Open(ctx)
		if err != nil {
			return err
		}
		for _, t := range r.trials {
			if o, ok := open[t.id]; ok && !strings.Contains(o.WaitingFor, "maintenance") {
				return fmt.Errorf("%s is not paused: %s", t.point, o)
			}
		}
		return nil
	})
}

// untouched judges an operation whose conductor died during maintenance: the hardware must not be touched.
func untouched(ctx context.Context, l *lab, t *trial) error {
	sv, err := l.Server(ctx, t.s.server)
	if err != nil {
		return err
	}
	if now := since(t.k, t.s.before, sv).requests; !slices.Equal(now, t.seen) {
		return fmt.Errorf("the power was %v when maintenance was set, and is %v now", t.seen, now)
	}
	return failed("")(ctx, l, t)
}
