package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/test/stack"
)

// show runs the demonstration.
func (s *demo) show(ctx context.Context) error {
	names, err := s.enroll(ctx)
	if err != nil {
		return err
	}
	if err := s.move(ctx, "Verifying", names, "manage", "manageable", nil); err != nil {
		return err
	}
	if err := s.move(ctx, "Cleaning", names, "provide", "available", nil); err != nil {
		return err
	}
	chosen := names[:deploys]
	digest, err := s.prepare(ctx, chosen)
	if err != nil {
		return err
	}
	before, err := s.servers(ctx)
	if err != nil {
		return err
	}
	loss := &loss{demo: s}
	if err := s.move(ctx, "Deploying", chosen, "active", "active", loss.look); err != nil {
		return err
	}
	if err := s.judge(ctx, chosen, digest, before, loss); err != nil {
		return err
	}
	back := chosen[:giveBack]
	if err := s.move(ctx, "Giving back", back, "deleted", "available", nil); err != nil {
		return err
	}
	nodes, err := s.nodes(ctx)
	if err != nil {
		return err
	}
	for _, name := range back {
		s.out.say("  %s is %s, %s", name, nodes[name].State, nodes[name].Power)
	}
	return nil
}

// enroll enrols every server.
func (s *demo) enroll(ctx context.Context) ([]string, error) {
	all, err := s.servers(ctx)
	if err == nil && len(all) != servers {
		err = fmt.Errorf("the rack has %d servers, not %d", len(all), servers)
	}
	if err != nil {
		return nil, err
	}
	s.out.say("Enrolling %d nodes", len(all))
	names := slices.Sorted(maps.Keys(all))
	return names, stack.Each(names, len(names), func(name string) error {
		_, err := s.Enroll(ctx, all[name], map[string]any{"name": name})
		return err
	})
}

// move requests a provision state for nodes and shows their progress until all are in it. It returns an error if a node
// fails. It calls look, if not nil, each time that it has read the states.
func (s *demo) move(ctx context.Context, doing string, names []string, verb, state string, look func(context.Context) error) error {
	s.out.say("%s %d nodes", doing, len(names))
	began := time.Now()
	if err := s.provision(ctx, names, verb); err != nil {
		return err
	}
	err := stack.Poll(ctx, func() (bool, error) {
		done, err := s.look(ctx, names, state)
		if err == nil && look != nil {
			err = look(ctx)
		}
		return done, err
	})
	if err == nil {
		s.out.say("  all %d are %s after %.1f s", len(names), state, time.Since(began).Seconds())
	}
	return err
}

// look shows the nodes' progress, and reports whether all are in the state.
func (s *demo) look(ctx context.Context, names []string, state string) (done bool, err error) {
	nodes, err := s.nodes(ctx)
	if err != nil {
		return false, err
	}
	open, err := s.Operations(ctx, "state=running")
	if err != nil {
		return false, err
	}
	var states, work []string
	done = true
	for _, name := range names {
		n := nodes[name]
		states = append(states, n.State)
		done = done && n.State == state
		if isFailed(n.State) {
			err = errors.Join(err, fmt.Errorf("node %s is in %s: %s", name, n.State, n.LastError))
		}
	}
	for _, o := range open {
		if i := atWork(o); i >= 0 {
			work = append(work, "on "+o.Steps[i].Conductor)
		}
	}
	line := tally(states)
	if len(work) > 0 {
		line += "; steps at work: " + tally(work)
	}
	s.out.progress(line)
	return done, err
}

// isFailed reports whether a state is one in which a node stays after a failure.
func isFailed(state string) bool { return strings.HasSuffix(state, "failed") || state == "error" }

// prepare sets the rack's image in the nodes, and returns its digest.
func (s *demo) prepare(ctx context.Context, names []string) (string, error) {
	digest, err := s.Digest(ctx)
	if err != nil {
		return "", fmt.Errorf("fetch the image: %w", err)
	}
	s.out.say("Image %s, sha256 %s...", s.Image(digest)["image_source"], digest[:12])
	return digest, stack.Each(names, len(names), func(name string) error { return s.SetImage(ctx, name, digest) })
}
