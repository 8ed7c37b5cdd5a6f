package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.temper.dev/temper/test/stack"
)

const (
	silentFleet = 400 // servers that are deployed
	silentDead  = 100 // servers beside them whose BMCs give no answer
)

// benchSilent measures how fast a fleet is deployed while the BMC of every fifth server gives no answer.
func benchSilent(ctx context.Context, o options) error {
	fmt.Printf("# Redfish deploys a minute of %d servers, without others and beside %d deploys whose BMCs give no answer, answers take 200 ms\n", silentFleet, silentDead)
	s, err := stack.Start(ctx, o.temper, "", "--nodes", fmt.Sprint(silentFleet+silentDead), "--conductors", "2", "--drivers", "redfish", "--bmc-latency", "200ms")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	if err := provided(ctx, s, silentFleet+silentDead); err != nil {
		return err
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	fleet, dead := nodes[:silentFleet], nodes[silentFleet:]
	for round := 1; round <= o.rounds; round++ {
		alone, err := deployed(ctx, s, fleet)
		if err != nil {
			return err
		}
		if err := spoil(ctx, s, dead, []map[string]any{{"kind": "hang"}}); err != nil {
			return err
		}
		if err := withImage(ctx, s, dead); err != nil {
			return err
		}
		if err := move(ctx, s, dead, "active"); err != nil {
			return err
		}
		beside, err := deployed(ctx, s, fleet)
		if err != nil {
			return err
		}
		if err := spoil(ctx, s, dead, nil); err != nil { // those go on now
			return err
		}
		if _, err := s.AwaitState(ctx, dead, "active", time.Now()); err != nil {
			return err
		}
		if err := givenBack(ctx, s, dead); err != nil {
			return err
		}
		fmt.Printf("  round %d: %4.0f alone, %4.0f beside them (%.0f %%)\n", round, perMinute(alone), perMinute(beside), 100*alone.Seconds()/beside.Seconds())
	}
	return nil
}

func perMinute(took time.Duration) float64 { return silentFleet / took.Minutes() }

// provided makes all nodes of the rack available, with the rack's image and without cleaning between their instances.
func provided(ctx context.Context, s *stack.Stack, count int) error {
	for _, leg := range [][3]string{{"enroll", "manage", "manageable"}, {"manageable", "provide", "available"}} {
		if leg[1] == "provide" {
			if err := uncleaned(ctx, s); err != nil {
				return err
			}
		}
		if _, err := s.Move(ctx, count, leg[0], leg[1], leg[2]); err != nil {
			return err
		}
	}
	return nil
}

func uncleaned(ctx context.Context, s *stack.Stack) error {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	patch := []map[string]any{{"op": "replace", "path": "/automated_clean", "value": false}}
	return stack.Each(nodes, 16, func(n stack.Node) error { return s.Call(ctx, http.MethodPatch, "/v1/nodes/"+n.UUID, patch, nil) })
}

// deployed deploys the nodes at once, returns how long that took, and takes the instances off them.
func deployed(ctx context.Context, s *stack.Stack, nodes []stack.Node) (time.Duration, error) {
	if err := withImage(ctx, s, nodes); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := move(ctx, s, nodes, "active"); err != nil {
		return 0, err
	}
	took, err := s.AwaitState(ctx, nodes, "active", began)
	if err != nil {
		return 0, err
	}
	return took, givenBack(ctx, s, nodes)
}

func givenBack(ctx context.Context, s *stack.Stack, nodes []stack.Node) error {
	if err := move(ctx, s, nodes, "deleted"); err != nil {
		return err
	}
	_, err := s.AwaitState(ctx, nodes, "available", time.Now())
	return err
}

// withImage has the nodes deploy the rack's image.
func withImage(ctx context.Context, s *stack.Stack, nodes []stack.Node) error {
	digest, err := s.Digest(ctx)
	if err != nil {
		return err
	}
	return stack.Each(nodes, 16, func(n stack.Node) error { return s.SetImage(ctx, n.UUID, digest) })
}

// move sends a verb to the nodes.
func move(ctx context.Context, s *stack.Stack, nodes []stack.Node, verb string) error {
	return stack.Each(nodes, 100, func(n stack.Node) error {
		return s.Call(ctx, http.MethodPut, "/v1/nodes/"+n.UUID+"/states/provision", map[string]any{"target": verb}, nil)
	})
}

// spoil sets the faults of the servers of the nodes, which have the names of their nodes.
func spoil(ctx context.Context, s *stack.Stack, nodes []stack.Node, faults []map[string]any) error {
	return stack.Each(nodes, 16, func(n stack.Node) error { return s.Spoil(ctx, n.Name, faults) })
}
