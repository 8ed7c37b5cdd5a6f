package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.temper.dev/temper/test/stack"
)

// benchMemory measures the resident memory while 1,000 operations are open.
func benchMemory(ctx context.Context, o options) error {
	fmt.Println("# Resident memory with 1,000 operations in flight; goal: under 100 MiB each")
	s, err := stack.Start(ctx, o.temper, "fake:\n  deploy_delay: \"3600\"\n", "--nodes", "0", "--enroll=false", "--conductors", "2", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	if err := s.Prepare(ctx, 1000); err != nil {
		return err
	}
	if err := setImage(s, ctx); err != nil {
		return err
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	err = stack.Each(nodes, 50, func(n stack.Node) error {
		return s.Call(ctx, http.MethodPut, "/v1/nodes/"+n.UUID+"/states/provision", map[string]any{"target": "active"}, nil)
	})
	if err != nil {
		return err
	}
	inFlight := 0
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline) && inFlight < 1000; time.Sleep(time.Second) {
		ops, err := running(s, ctx)
		if err != nil {
			return err
		}
		inFlight = 0
		for _, op := range ops {
			if op.Conductor != "" {
				inFlight++
			}
		}
	}
	fmt.Printf("  %d operations have a step running\n", inFlight)
	if err := s.Read(); err != nil {
		return err
	}
	for _, p := range s.Processes {
		fmt.Printf("    %-14s %-14s %6.0f MiB\n", p.Role, p.Name, float64(rssOf(p.PID))/(1<<20))
	}
	return nil
}
