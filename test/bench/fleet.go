package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.temper.dev/temper/test/stack"
)

const fleetServers = 1000

// benchFleet measures whole Redfish deploys of many servers at once.
func benchFleet(ctx context.Context, o options) error {
	fmt.Printf("# Redfish deploys a minute, %d servers at once, answers of BMCs take 200 ms\n", fleetServers)
	s, err := stack.Start(ctx, o.temper, "", "--nodes", fmt.Sprint(fleetServers), "--conductors", "2", "--drivers", "redfish", "--persona", "generic", "--bmc-latency", "200ms")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	if err := provided(ctx, s, fleetServers); err != nil {
		return err
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	for round := 1; round <= o.rounds; round++ {
		if _, err := deployed(ctx, s, nodes, fmt.Sprintf("round %d", round)); err != nil {
			return err
		}
	}
	return nil
}

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

// deployed deploys the nodes at once, prints and returns how long that took, and takes the instances off them.
func deployed(ctx context.Context, s *stack.Stack, nodes []stack.Node, what string) (time.Duration, error) {
	if err := withImage(ctx, s, nodes); err != nil {
		return 0, err
	}
	began, before := time.Now(), usage(s)
	if err := move(ctx, s, nodes, "active"); err != nil {
		return 0, err
	}
	took, err := s.AwaitState(ctx, nodes, "active", began)
	if err != nil {
		return 0, err
	}
	fmt.Printf("  %s: %4.0f deploys/min; %s\n", what, float64(len(nodes))/took.Minutes(), perDeploy(before, usage(s), len(nodes)))
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
