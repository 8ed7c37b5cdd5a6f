package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"go.temper.dev/temper/test/stack"
)

// overWithin is how long a step may be interrupted by the death of its conductor. If it takes longer, the demonstration
// fails.
const overWithin = 30 * time.Second

// loss kills a conductor in the middle of the deploys, and watches where its steps continue.
type loss struct {
	*demo
	victim  string // "" = nobody was killed yet
	at      time.Time
	left    map[string]int // operations whose step is interrupted, with the step's index
	took    map[string]time.Duration
	touched map[string]bool // nodes on whose steps the victim worked when it was killed
}

// look kills the first conductor that works on enough steps. After that it looks for these steps on other conductors.
func (l *loss) look(ctx context.Context) error {
	if l.victim == "" {
		return l.seek(ctx)
	}
	return l.follow(ctx)
}

// seek freezes a busy conductor with SIGSTOP before it kills it, so that its steps can't end while the API is asked how many
// it has. If there are fewer than wanted by then, seek lets the conductor continue.
func (l *loss) seek(ctx context.Context) error {
	work, err := l.work(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(work)) {
		if len(work[name]) < busy {
			continue
		}
		pid, err := l.Signal(name, syscall.SIGSTOP)
		if err != nil {
			return err
		}
		now, err := l.work(ctx)
		if err != nil || len(now[name]) < busy {
			if kill := syscall.Kill(pid, syscall.SIGCONT); kill != nil {
				return fmt.Errorf("let %s go on: %w", name, kill)
			}
			if err != nil {
				return err
			}
			continue
		}
		return l.kill(name, pid, now[name])
	}
	return nil
}

func (l *loss) kill(name string, pid int, steps []stack.Operation) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", name, err)
	}
	l.victim, l.at = name, time.Now()
	l.left, l.took, l.touched = map[string]int{}, map[string]time.Duration{}, map[string]bool{}
	for _, o := range steps {
		l.left[o.ID], l.touched[o.Node] = atWork(o), true
	}
	l.out.say("  killed %s (pid %d) with %d steps at work on it:", name, pid, len(steps))
	for _, o := range steps {
		l.out.say("    %s: %s.%s", o.Node, o.Steps[atWork(o)].Interface, o.Steps[atWork(o)].Step)
	}
	return nil
}

// follow records which of the steps run on another conductor by now, or have ended there.
func (l *loss) follow(ctx context.Context) error {
	if len(l.left) == 0 {
		return nil
	}
	ops, err := l.Operations(ctx, "kind=deploy")
	if err != nil {
		return err
	}
	for _, o := range ops {
		i, lost := l.left[o.ID]
		if !lost {
			continue
		}
		next := l.elsewhere(o.Steps[i:])
		if next == nil {
			continue
		}
		delete(l.left, o.ID)
		l.took[o.ID] = time.Since(l.at)
		l.out.say("  %s goes on with %s.%s on %s %.1f s after the kill", o.Node, next.Interface, next.Step,
			next.Conductor, l.took[o.ID].Seconds())
	}
	if len(l.left) > 0 && time.Since(l.at) > overWithin {
		return fmt.Errorf("%d steps of %s still stand still %s after it was killed", len(l.left), l.victim, overWithin)
	}
	return nil
}

// elsewhere returns the first of the steps that another conductor has begun. It need not be the interrupted one, which the
// victim may have recorded as done just before it died.
func (l *loss) elsewhere(steps []stack.Step) *stack.Step {
	for i := range steps {
		if steps[i].Conductor != "" && steps[i].Conductor != l.victim {
			return &steps[i]
		}
	}
	return nil
}

// work returns the operations that have a running step, by conductor.
func (l *loss) work(ctx context.Context) (map[string][]stack.Operation, error) {
	ops, err := l.Operations(ctx, "kind=deploy&state=running")
	if err != nil {
		return nil, err
	}
	by := map[string][]stack.Operation{}
	for _, o := range ops {
		if i := atWork(o); i >= 0 {
			by[o.Steps[i].Conductor] = append(by[o.Steps[i].Conductor], o)
		}
	}
	return by, nil
}
