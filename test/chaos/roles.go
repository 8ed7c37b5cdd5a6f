package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/test/stack"
)

var roleRows = []row{
	{
		name: "orchestrator killed", holds: "runs once", points: named(chaos.Beginning, chaos.Closing, chaos.Closed),
		happen: func(ctx context.Context, r *round) error {
			if err := r.arm(r.shared, false); err != nil {
				return err
			}
			if _, err := r.another(ctx, "heir"); err != nil {
				return err
			}
			if err := errors.Join(r.start(ctx), r.reach(ctx, r.shared), r.disarm(r.shared)); err != nil {
				return err
			}
			r.happen()
			return errors.Join(r.kill("orchestrator"), r.over(ctx, patience))
		},
	},
	{
		name: "API killed after it accepted a request, before or after it started the workflow", holds: "runs once", points: named(chaos.Accepted, chaos.Started),
		happen: func(ctx context.Context, r *round) error {
			if err := r.arm(r.shared, true); err != nil {
				return err
			}
			if _, err := r.another(ctx, "heir"); err != nil {
				return err
			}
			cut, stop := context.WithCancel(ctx)
			asked := make(chan error, 1)
			go func() {
				asked <- each(r.subjects(), func(i int, s *subject) error {
					_, err := r.ask(cut, s, r.trials[i].k)
					return err
				})
			}()
			err := errors.Join(r.reached(ctx, r.shared), r.disarm(r.shared))
			r.happen()
			err = errors.Join(err, r.kill("api"))
			stop()
			if answered := <-asked; answered == nil {
				err = errors.Join(err, errors.New("a request was answered, and the API was to be killed before"))
			}
			if err != nil {
				return err
			}
			if err := stack.Await(ctx, patience, func() error { return r.find(ctx) }); err != nil {
				return err
			}
			return r.over(ctx, patience)
		},
	},
	{
		name: "API that starts the workflow when all is over", holds: "refused; somebody else had started it", points: named(chaos.Accepted),
		judge:  once,
		happen: func(ctx context.Context, r *round) error { return r.late(ctx) },
	},
}

// late stops the API between its commit and the start of the workflow, until reconciliation has started the workflow and the
// operation has ended.
func (r *round) late(ctx context.Context) error {
	if err := r.arm(r.shared, true); err != nil {
		return err
	}
	if _, err := r.another(ctx, "heir"); err != nil {
		return err
	}
	asked := make(chan error, 1)
	go func() { asked <- r.start(ctx) }()
	err := errors.Join(r.reached(ctx, r.shared), r.disarm(r.shared))
	r.happen()
	err = errors.Join(err, r.over(ctx, patience), r.shared.release(), <-asked)
	// This process is to stop no more, but another one is.
	return errors.Join(err, os.Remove(filepath.Join(r.shared.dir, "release")), r.kill("api"), r.answering(ctx))
}

// once judges that an operation went as an undisturbed one, and that its workflow was started once.
func once(ctx context.Context, l *lab, t *trial) error {
	if err := l.judge(ctx, t); err != nil {
		return err
	}
	o, err := l.Operation(ctx, t.id)
	if err != nil {
		return err
	}
	c, err := l.temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	newest, err := c.DescribeWorkflowExecution(ctx, o.WorkflowID, "")
	if err == nil && newest.GetWorkflowExecutionInfo().GetExecution().GetRunId() != o.RunID {
		err = fmt.Errorf("its workflow was started again: %s", o)
	}
	return err
}

// answering waits until the API and what it needs serve requests.
func (l *lab) answering(ctx context.Context) error {
	return stack.Await(ctx, patience, func() error {
		if err := l.Read(); err != nil {
			return err
		}
		return l.Call(ctx, http.MethodGet, "/temper/v1/readyz", nil, nil)
	})
}

// named returns points of processes that are no conductors.
func named(names ...string) func(kind) ([]point, error) {
	return func(k kind) ([]point, error) {
		var all []point
		for _, n := range names {
			all = append(all, point{kind: k.name, Point: chaos.Point{Name: n}})
		}
		return all, nil
	}
}

// arm makes each operation stop at its point.
func (r *round) arm(p *post, deaf bool) error {
	for _, t := range r.trials {
		if err := p.arm(t.s.uuid, chaos.Arm{Point: t.Point, Deaf: deaf}); err != nil {
			return err
		}
	}
	return nil
}

// disarm undoes arm, so that the next process does not stop there again.
func (r *round) disarm(p *post) error {
	var all error
	for _, t := range r.trials {
		all = errors.Join(all, os.Remove(filepath.Join(p.dir, "arm", t.s.uuid)), os.Remove(filepath.Join(p.dir, "reached", t.s.uuid)))
	}
	return all
}

// reached waits until all have stopped, at points where the ids of the operations are not known yet.
func (r *round) reached(ctx context.Context, p *post) error {
	return stack.Await(ctx, patience, func() error {
		for _, t := range r.trials {
			at, err := p.reached(t.s.uuid)
			if err != nil {
				return fmt.Errorf("%s: %w", t.point, err)
			}
			t.id = fmt.Sprint(at.Operation)
		}
		return nil
	})
}

// find finds the operations' rows in the database.
func (r *round) find(ctx context.Context) error {
	for _, t := range r.trials {
		o, err := r.Newest(ctx, t.s.uuid)
		if err == nil && o.ID != t.id {
			err = fmt.Errorf("%s: operation %s is not the newest of its node", t.point, t.id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// signal sends a signal to a role's only process, which has its name.
func (l *lab) signal(role string, sig syscall.Signal) error {
	_, err := l.Signal(role, sig)
	return err
}

// kill ends the processes of a role as a power cut does; the stack starts them again.
func (l *lab) kill(role string) error { return l.signal(role, syscall.SIGKILL) }
