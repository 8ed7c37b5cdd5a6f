package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/test/stack"
)

// trial is a case that is being tried: something happens to an operation at a point.
type trial struct {
	point
	k  kind
	s  *subject
	id string // of the operation

	seen []string  // power requests until maintenance was set
	run  string    // the run of its workflow before it was reset
	past bool      // it ended before it could be paused
	from time.Time // when it happened to this case, if the cases differ in that

	took time.Duration // from what happened until another process worked on it
	err  error         // what was wrong
}

// round is a group of cases that are tried at the same time.
type round struct {
	*lab
	row    row
	trials []*trial
	began  time.Time // when it happened
	first  time.Time // when the first thing happened, if it was more than one

	victim *conductor   // the conductor that stops at all their points
	others []*conductor // which may continue the operations
}

func (l *lab) newRound(r row, points []point) (*round, error) {
	if len(points) > len(l.nodes) {
		return nil, fmt.Errorf("%d cases at once, and there are %d servers", len(points), len(l.nodes))
	}
	l.rounds++
	l.group = r.group
	out := &round{lab: l, row: r}
	for i, p := range points {
		k, ok := kindOf(p.kind)
		if !ok {
			return nil, fmt.Errorf("unknown kind %q", p.kind)
		}
		out.trials = append(out.trials, &trial{point: p, k: k, s: l.nodes[i]})
	}
	return out, nil
}

func (r *round) name(what string) string { return fmt.Sprintf("%s-%d", what, r.rounds) }

func (r *round) subjects() []*subject {
	var out []*subject
	for _, t := range r.trials {
		out = append(out, t.s)
	}
	return out
}

// prepare brings every node into the state in which its case begins, with a conductor that is stopped after that.
func (r *round) prepare(ctx context.Context) (err error) {
	c, err := r.conductor(ctx, r.name("first"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	return each(r.subjects(), func(i int, s *subject) error {
		t := r.trials[i]
		if err := r.ready(ctx, s, t.k); err != nil {
			return fmt.Errorf("make a node ready for %s: %w", t.point, err)
		}
		if t.k.verb == "active" || t.k.verb == "rebuild" {
			if err := r.Set(ctx, s.uuid, map[string]any{"instance_info": r.Image(r.digest)}); err != nil {
				return err
			}
		}
		n, err := r.Show(ctx, s.uuid)
		if err != nil {
			return err
		}
		s.said = n.LastError
		s.before, err = r.Server(ctx, s.server)
		return err
	})
}

// begin requests all operations and waits until each is stopped at its point by the victim.
func (r *round) begin(ctx context.Context, deaf bool, env ...string) (err error) {
	p, err := newPost(r.folder(r.name("victim")))
	if err != nil {
		return err
	}
	if err := r.arm(p, deaf); err != nil {
		return err
	}
	if r.victim, err = r.join(ctx, r.name("victim"), p, env...); err != nil {
		return err
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	return r.reach(ctx, p)
}

// start requests all operations.
func (r *round) start(ctx context.Context) error {
	return each(r.subjects(), func(i int, s *subject) (err error) {
		t := r.trials[i]
		if t.id, err = r.ask(ctx, s, t.k); err == nil && t.id == "" {
			err = errors.New("the answer names no operation")
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", t.point, err)
		}
		return err
	})
}

// reach waits until each has stopped at its point.
func (r *round) reach(ctx context.Context, p *post) error {
	left := map[*trial]bool{}
	for _, t := range r.trials {
		left[t] = true
	}
	return stack.Await(ctx, patience, func() error {
		var missing []string
		for t := range maps.Clone(left) {
			at, err := p.reached(t.s.uuid)
			if err == nil && fmt.Sprint(at.Operation) != t.id {
				err = fmt.Errorf("operation %d reached it", at.Operation)
			}
			if err == nil {
				delete(left, t)
				continue
			}
			missing = append(missing, fmt.Sprintf("%s (operation %s): %v", t.point, t.id, err))
		}
		if len(missing) > 0 {
			return fmt.Errorf("%d of %d: %s", len(missing), len(r.trials), strings.Join(missing[:min(len(missing), 5)], "; "))
		}
		return nil
	})
}

// another starts a conductor that may continue the work.
func (r *round) another(ctx context.Context, name string) (*conductor, error) {
	c, err := r.conductor(ctx, r.name(name))
	if err == nil {
		r.others = append(r.others, c)
	}
	return c, err
}

// happen records the time at which it happened.
func (r *round) happen() {
	r.began = time.Now()
	if r.first.IsZero() {
		r.first = r.began
	}
}

// taken waits until another conductor has each operation, and records how long that took.
func (r *round) taken(ctx context.Context, within time.Duration) error {
	return limit(stack.Await(ctx, within, func() error {
		first := map[int64]time.Time{}
		for _, c := range r.others {
			passed, err := c.trace()
			if err != nil {
				return err
			}
			for _, p := range passed {
				if at, ok := first[p.Operation]; p.Name == chaos.Claimed && (!ok || p.At.Before(at)) {
					first[p.Operation] = p.At
				}
			}
		}
		open, err := r.Open(ctx)
		if err != nil {
			return err
		}
		var missing []string
		for _, t := range r.trials {
			at, ok := first[number(t.id)]
			if _, still := open[t.id]; !ok && !still {
				continue // it had ended already
			}
			if !ok {
				missing = append(missing, fmt.Sprintf("%s (operation %s)", t.point, t.id))
				continue
			}
			t.took = at.Sub(r.began)
		}
		if len(missing) > 0 {
			return fmt.Errorf("%d of %d are not taken: %s", len(missing), len(r.trials), strings.Join(missing[:min(len(missing), 5)], "; "))
		}
		return nil
	}))
}

func number(id string) int64 {
	var n int64
	_, _ = fmt.Sscan(id, &n) // 0 is no operation
	return n
}

// over waits until all operations have ended.
func (r *round) over(ctx context.Context, within time.Duration) error {
	return limit(stack.Await(ctx, within, func() error {
		open, err := r.Open(ctx)
		if err != nil {
			return err
		}
		var still []string
		for _, t := range r.trials {
			if o, ok := open[t.id]; ok {
				still = append(still, o.String())
			}
		}
		if len(still) > 0 {
			return fmt.Errorf("%d of %d are open: %s", len(still), len(r.trials), strings.Join(still[:min(len(still), 3)], "; "))
		}
		return nil
	}))
}

// end ends the conductors of the round.
func (r *round) end() error {
	err := r.victim.end()
	for _, c := range r.others {
		err = errors.Join(err, c.end())
	}
	return err
}
