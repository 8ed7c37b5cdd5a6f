package main

import (
	"context"
	"fmt"
	"time"

	"go.temper.dev/temper/test/stack"
)

// image is the image that nodes of fake hardware deploy; nothing fetches it.
var image = map[string]any{
	"image_source":   "http://127.0.0.1/none.img",
	"image_checksum": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	"root_gb":        "10",
}

// setImage gives every node its image.
func setImage(s *stack.Stack, ctx context.Context) error {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	return stack.Each(nodes, 16, func(n stack.Node) error {
		patch := []map[string]any{{"op": "replace", "path": "/instance_info", "value": image}}
		return s.Call(ctx, "PATCH", "/v1/nodes/"+n.UUID, patch, nil)
	})
}

// benchDeploys measures deploys and undeploys per minute on fake hardware without delays, 100
// and 1,000 at once.
func benchDeploys(ctx context.Context, o options) error {
	fmt.Println("# Deploys and give-backs (with automated clean) a minute, fake hardware without delays, all on this machine")
	fmt.Println("  Ironic 21.4, 100 at once: 1,182 with one conductor, 1,669 with two; give-back 1,497")
	s, err := stack.Start(ctx, o.temper, "", "--nodes", "0", "--enroll=false", "--conductors", "2", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	if err := s.Prepare(ctx, 1000); err != nil {
		return err
	}
	for _, count := range []int{100, 1000} {
		for round := 1; round <= o.rounds; round++ {
			if err := setImage(s, ctx); err != nil {
				return err
			}
			for _, leg := range []struct{ from, verb, to, name string }{
				{"available", "active", "active", "deploys"}, {"active", "deleted", "available", "give-backs"},
			} {
				before := usage(s)
				took, err := s.Move(ctx, count, leg.from, leg.verb, leg.to)
				if err != nil {
					return err
				}
				fmt.Printf("  %4d at once, round %d: %6.0f %s/min in %s; %s\n", count, round,
					float64(count)/took.Minutes(), leg.name, took.Round(10*time.Millisecond), perDeploy(before, usage(s), count))
			}
		}
	}
	return nil
}
