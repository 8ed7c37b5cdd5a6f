package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/test/stack"
)

// judge compares what happened with the promises, and prints the summary.
func (s *demo) judge(ctx context.Context, names []string, digest string, before map[string]stack.Server, l *loss) error {
	if err := l.settle(ctx); err != nil {
		return err
	}
	nodes, err := s.nodes(ctx)
	if err != nil {
		return err
	}
	ops, err := s.Operations(ctx, "kind=deploy")
	if err != nil {
		return err
	}
	after, err := s.servers(ctx)
	if err != nil {
		return err
	}
	v := verdict{}
	v.states(names, nodes)
	v.operations(ops)
	v.disks(names, after, digest)
	if err := v.power(names, before, after, l.touched); err != nil {
		return err
	}
	v.killed, v.steps = l.victim, len(l.took)
	for _, took := range l.took {
		v.longest = max(v.longest, took)
	}
	s.out.say("%s", v)
	return v.err()
}

// settle waits until every step of the killed conductor runs or has ended on another one.
func (l *loss) settle(ctx context.Context) error {
	if l.victim == "" {
		return fmt.Errorf("no conductor ever had %d steps at work, so none was killed", busy)
	}
	return stack.Poll(ctx, func() (bool, error) { return len(l.left) == 0, l.follow(ctx) })
}

// verdict is the summary.
type verdict struct {
	active, failed, reserved, cycled, wrongDisk int
	killed                                      string
	steps                                       int
	longest                                     time.Duration
	reasons                                     []string
}

func (v *verdict) blame(format string, args ...any) {
	v.reasons = append(v.reasons, fmt.Sprintf(format, args...))
}

func (v *verdict) states(names []string, nodes map[string]stack.Node) {
	for _, name := range names {
		n := nodes[name]
		if n.State == "active" && n.Power == "power on" {
			v.active++
		} else {
			v.blame("%s is %s and %s", name, n.State, n.Power)
		}
	}
	for name, n := range nodes {
		if isFailed(n.State) {
			v.failed++
			v.blame("%s is %s: %s", name, n.State, n.LastError)
		}
		if n.Reservation != "" {
			v.reserved++
			v.blame("%s is still reserved by %s", name, n.Reservation)
		}
	}
}

func (v *verdict) operations(ops []stack.Operation) {
	for _, o := range ops {
		if o.Outcome != "succeeded" {
			v.failed++
			v.blame("operation %s of %s is %s, outcome %q: %s", o.ID, o.Node, o.State, o.Outcome, o.Error)
		}
	}
	if len(ops) != deploys {
		v.blame("%d deploys were made of %d requests", len(ops), deploys)
	}
}

func (v *verdict) disks(names []string, servers map[string]stack.Server, digest string) {
	for _, name := range names {
		if servers[name].DiskSHA256 != digest {
			v.wrongDisk++
			v.blame("the disk of %s has sha256 %q", name, servers[name].DiskSHA256)
		}
	}
}

// power compares the power actions of each server since the deploys began with those of an undisturbed one.
func (v *verdict) power(names []string, before, after map[string]stack.Server, disturbed map[string]bool) error {
	since := func(name string) string {
		var actions []string
		for _, a := range after[name].Actions[len(before[name].Actions):] {
			actions = append(actions, a.String())
		}
		return strings.Join(actions, ", ")
	}
	i := slices.IndexFunc(names, func(name string) bool { return !disturbed[name] })
	if i < 0 {
		return errors.New("no deploy was left undisturbed, so there is nothing to compare the others with")
	}
	want := since(names[i])
	if want == "" {
		return fmt.Errorf("the rack saw no power action on %s, which was deployed", names[i])
	}
	for _, name := range names {
		if got := since(name); got != want {
			v.cycled++
			v.blame("power actions on %s: %s; on %s, which nothing happened to: %s", name, got, names[i], want)
		}
	}
	return nil
}

func (v verdict) String() string {
	return fmt.Sprintf(`
  %3d active
  %3d failed
  %3d left reserved
  %3d power-cycled twice
  %3d with another disk than the image
  %s was killed with %d steps at work; the longest hand-over took %.1f s
`, v.active, v.failed, v.reserved, v.cycled, v.wrongDisk, v.killed, v.steps, v.longest.Seconds())
}

func (v verdict) err() error {
	if v.active == deploys && len(v.reasons) == 0 {
		return nil
	}
	return errors.New("not as promised:\n  " + strings.Join(v.reasons, "\n  "))
}

// complain shows what is wrong if the demonstration ends early.
func (s *demo) complain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ops, err := s.Operations(ctx, "")
	if err != nil {
		s.out.say("The API does not tell how things are: %v", err)
		return
	}
	for _, o := range ops {
		if o.State == "ended" && o.Outcome == "succeeded" {
			continue
		}
		line := fmt.Sprintf("  %s of %s is %s", o.Kind, o.Node, o.State)
		if i := atWork(o); i >= 0 {
			line += fmt.Sprintf(", at %s.%s on %s", o.Steps[i].Interface, o.Steps[i].Step, o.Steps[i].Conductor)
		}
		s.out.say("%s %s %s", line, o.Outcome, o.Error)
	}
}
