package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
)

// silentFor is how long a silent BMC is waited for in these rows: longer than a row takes.
const silentFor = "TEMPER_BMC_AWAY_TIMEOUT=10m"

// bmcRows are the rows about what a conductor does with a BMC besides sending requests.
var bmcRows = []row{
	{
		name: "BMC silent, and the conductor gone whose step waits for it", holds: "waits, says for what, and goes on at the same step elsewhere when the BMC answers",
		points: firstSlow, judge: sameEffects,
		atOnce: 1, // a conductor to which several BMCs give no answer, and no other one does, takes its own network for cut off
		happen: func(ctx context.Context, r *round) error {
			if err := r.begin(ctx, false, silentFor); err != nil {
				return err
			}
			if err := errors.Join(r.spoil(ctx, fault{"kind": "reset"}), r.victim.release()); err != nil {
				return err
			}
			const what = "the BMC to answer again"
			if err := r.allWait(ctx, what); err != nil {
				return err
			}
			r.happen()
			err := r.victim.signal(syscall.SIGKILL)
			heir, startErr := r.conductor(ctx, r.name("heir"), silentFor)
			r.others = append(r.others, heir)
			err = errors.Join(err, startErr, r.taken(ctx, time.Minute), r.allWait(ctx, what))
			return errors.Join(err, r.spoil(ctx), r.over(ctx, patience))
		},
	},
	{
		name: "conductor gone while it is subscribed to the events of the BMC", holds: "goes on at the same step elsewhere; no subscription is left",
		points: switching, judge: sameEffects,
		happen: func(ctx context.Context, r *round) error {
			events := "TEMPER_BMC_EVENT_URL=" + r.APIURL
			if err := r.begin(ctx, false, events); err != nil {
				return err
			}
			if err := errors.Join(r.spoil(ctx, fault{"kind": "slow_power", "delay": "8s", "count": 1}), r.victim.release(), r.subscribed(ctx, true)); err != nil {
				return err
			}
			r.happen()
			if err := errors.Join(r.victim.signal(syscall.SIGKILL), r.forgotten(ctx)); err != nil {
				return err
			}
			heir, err := r.conductor(ctx, r.name("heir"), events)
			r.others = append(r.others, heir)
			return errors.Join(err, r.over(ctx, patience), r.subscribed(ctx, false))
		},
	},
	{
		name: "conductor gone while it reads the health of the nodes", holds: "what is asked for then runs once; the health is read elsewhere",
		points: named("asked for"), judge: once,
		happen: func(ctx context.Context, r *round) (err error) {
			const often = "TEMPER_HEALTH_INTERVAL=1s"
			if err := r.spoil(ctx, fault{"kind": "hang", "method": "GET", "path": "/Chassis/", "count": manyReads}); err != nil {
				return err
			}
			if r.victim, err = r.conductor(ctx, r.name("victim"), often); err != nil {
				return err
			}
			if err := r.struck(ctx); err != nil {
				return err
			}
			r.happen()
			err = errors.Join(r.victim.signal(syscall.SIGKILL), r.spoil(ctx))
			heir, startErr := r.conductor(ctx, r.name("heir"), often)
			r.others = append(r.others, heir)
			return errors.Join(err, startErr, r.start(ctx), r.over(ctx, patience), r.healthRead(ctx))
		},
	},
}

// manyReads is how many readings of health are kept hanging: more than a row has.
const manyReads = 10_000

// firstSlow returns the first of the points of slow. What is sent at most once fails when its answer is lost, and waits for nothing.
func firstSlow(k kind) ([]point, error) {
	if k.once {
		return nil, nil
	}
	all, err := slow(k)
	return all[:min(len(all), 1)], err
}

// switching returns the points right before a server is switched by an operation that does nothing else.
func switching(k kind) ([]point, error) {
	if k.column != node.KindPower {
		return nil, nil
	}
	return where(k, func(p point) bool { return p.Name == chaos.Request && strings.HasSuffix(p.Request, "On") })
}

// spoil sets the faults of all servers of the round; none deletes them.
func (r *round) spoil(ctx context.Context, faults ...fault) error {
	return each(r.subjects(), func(_ int, s *subject) error { return r.Spoil(ctx, s.server, faults) })
}

// struck waits until the only fault of a server, which all have manyReads times, has struck.
func (r *round) struck(ctx context.Context) error {
	return stack.Await(ctx, time.Minute, func() error {
		for _, s := range r.subjects() {
			left, err := r.Left(ctx, s.server)
			if err != nil {
				return err
			}
			if len(left) == 1 && left[0]["count"] != float64(manyReads) {
				return nil
			}
		}
		return errors.New("the health of no server is read")
	})
}

// healthRead waits until the health of all nodes was read since it happened.
func (r *round) healthRead(ctx context.Context) error {
	return stack.Await(ctx, time.Minute, func() error {
		return each(r.subjects(), func(i int, s *subject) error {
			var h struct {
				ReadAt *time.Time `json:"read_at"`
			}
			err := r.Call(ctx, http.MethodGet, "/temper/v1/nodes/"+s.uuid+"/health", nil, &h)
			if err == nil && (h.ReadAt == nil || h.ReadAt.Before(r.began)) {
				err = fmt.Errorf("%s: the health of node %s was not read since %s: %v", r.trials[i].point, s.uuid, r.began, h.ReadAt)
			}
			return err
		})
	})
}

// subscribed waits until each BMC that offers subscriptions to its events has one, or until none has.
func (r *round) subscribed(ctx context.Context, want bool) error {
	return stack.Await(ctx, time.Minute, func() error {
		offered := 0
		for _, t := range r.trials {
			have, offers, err := r.subscriptions(ctx, t.s)
			if err != nil {
				return err
			}
			if offers {
				offered++
			}
			if offers && (have > 0) != want {
				return fmt.Errorf("%s: the BMC of %s has %d subscriptions to its events", t.point, t.s.server, have)
			}
		}
		if offered == 0 {
			return errors.New("no BMC of these servers offers subscriptions to its events")
		}
		return nil
	})
}

// subscriptions counts the subscriptions to the events of a BMC. offers is false if it offers none.
func (r *round) subscriptions(ctx context.Context, s *subject) (have int, offers bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.before.Address+"/redfish/v1/EventService/Subscriptions", http.NoBody)
	if err != nil {
		return 0, false, err
	}
	req.SetBasicAuth(s.before.Username, s.before.Password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return 0, false, nil
	}
	var all struct{ Members []any }
	err = json.NewDecoder(resp.Body).Decode(&all)
	return len(all.Members), true, err
}

// forgotten waits until the victim, which was killed, counts as dead.
func (r *round) forgotten(ctx context.Context) error {
	return stack.Await(ctx, time.Minute, func() error {
		var one struct{ Alive bool }
		err := r.Call(ctx, http.MethodGet, "/v1/conductors/"+r.victim.name, nil, &one)
		if err == nil && one.Alive {
			err = fmt.Errorf("%s counts as alive", r.victim.name)
		}
		return err
	})
}
