package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.temper.dev/temper/test/stack"
)

// benchInFlight kills one of three conductors while many deploys run: on fake hardware as
// many as the goal asks for, and on the rack, where it counts power actions, as many as this
// machine can simulate.
func benchInFlight(ctx context.Context, o options) error {
	fmt.Println("# One of three conductors killed with deploys in flight; goals: 0 failed, no doubled power action, the last resumed < 15 s")
	if err := fakeInFlight(ctx, o, 500); err != nil {
		return err
	}
	return rackInFlight(ctx, o, 60)
}

func fakeInFlight(ctx context.Context, o options, count int) error {
	s, err := stack.Start(ctx, o.temper, "fake:\n  deploy_delay: \"30\"\n", "--nodes", "0", "--enroll=false", "--conductors", "3", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	if err := s.Prepare(ctx, count); err != nil {
		return err
	}
	if err := setImage(s, ctx); err != nil {
		return err
	}
	return killInFlight(s, ctx, "fake hardware")
}

func rackInFlight(ctx context.Context, o options, count int) error {
	s, err := stack.Start(ctx, o.temper, "rack_step_delay: 8s\n", "--nodes", fmt.Sprint(count), "--conductors", "3", "--drivers", "redfish")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	digest, err := s.Digest(ctx)
	if err != nil {
		return err
	}
	if _, err := s.Move(ctx, count, "enroll", "manage", "manageable"); err != nil {
		return err
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		patch := []map[string]any{{"op": "add", "path": "/automated_clean", "value": false}}
		if err := s.Call(ctx, http.MethodPatch, "/v1/nodes/"+n.UUID, patch, nil); err != nil {
			return err
		}
		if err := s.SetImage(ctx, n.UUID, digest); err != nil {
			return err
		}
	}
	if _, err := s.Move(ctx, count, "manageable", "provide", "available"); err != nil {
		return err
	}
	if err := killInFlight(s, ctx, "simulated rack"); err != nil {
		return err
	}
	servers, err := s.Servers(ctx)
	if err != nil {
		return err
	}
	ways := map[string]int{} // what was done to the power, and on how many servers
	for _, sv := range servers {
		var did []string
		for _, a := range sv.Actions {
			if a.Effect {
				did = append(did, a.String())
			}
		}
		ways[strings.Join(did, ", ")]++
	}
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		fmt.Printf("    power actions of %d servers: %s\n", ways[way], way)
	}
	return nil
}

// killInFlight deploys every available node, kills a conductor once all are at
// work, and waits for the end of all.
func killInFlight(s *stack.Stack, ctx context.Context, what string) error {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	err = stack.Each(nodes, 50, func(n stack.Node) error {
		return s.Call(ctx, http.MethodPut, "/v1/nodes/"+n.UUID+"/states/provision", map[string]any{"target": "active"}, nil)
	})
	if err != nil {
		return err
	}
	victim, lost, err := mostAtWork(s, ctx, len(nodes))
	if err != nil {
		return err
	}
	pid, err := pidOf(s, victim)
	if err != nil {
		return err
	}
	killed := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	took, err := awaitMoved(s, ctx, victim, lost, killed, 50*time.Millisecond, func(c string, runs bool) bool {
		return !runs || c != victim // it has ended, or waits for its agent
	})
	if err != nil {
		return err
	}
	all, err := s.AwaitState(ctx, nodes, "active", began)
	if err != nil {
		return err
	}
	fmt.Printf("  %s, %d deploys: %d steps of the killed one ran elsewhere, median %.2f s, the last %.2f s; all active after %.0f s, 0 failed\n",
		what, len(nodes), len(lost), median(took).Seconds(), longest(took).Seconds(), all.Seconds())
	return nil
}

// mostAtWork waits until conductors work on two thirds of the deploys. It returns the
// conductor with the most of them, and these.
func mostAtWork(s *stack.Stack, ctx context.Context, count int) (string, []string, error) {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		ops, err := running(s, ctx)
		if err != nil {
			return "", nil, err
		}
		// Not all, because some have not begun yet, some have ended, and on the rack some wait for their agents.
		if best, its, idle := mostSteps(ops); best != "" && len(ops)-idle >= count*2/3 {
			return best, its, nil
		}
	}
	return "", nil, fmt.Errorf("the deploys were not all at work within two minutes")
}
