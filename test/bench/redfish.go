package main

import (
	"context"
	"fmt"
	"net/http"
	"sort"
	"time"

	"go.temper.dev/temper/test/stack"
)

// benchRedfish measures a single deploy on the simulated rack, and its parts.
func benchRedfish(ctx context.Context, o options) error {
	fmt.Println("# One redfish + direct deploy over the simulated rack without latency, alone")
	s, err := stack.Start(ctx, o.temper, "", "--nodes", "1", "--conductors", "1", "--drivers", "redfish")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	if len(nodes) != 1 {
		return fmt.Errorf("%d nodes were enrolled, not 1", len(nodes))
	}
	for _, leg := range [][3]string{{"enroll", "manage", "manageable"}, {"manageable", "provide", "available"}} {
		if _, err := s.Move(ctx, 1, leg[0], leg[1], leg[2]); err != nil {
			return err
		}
	}
	digest, err := s.Digest(ctx)
	if err != nil {
		return err
	}
	if err := s.SetImage(ctx, nodes[0].UUID, digest); err != nil {
		return err
	}
	took, err := s.Move(ctx, 1, "available", "active", "active")
	if err != nil {
		return err
	}
	fmt.Printf("  wall time %.2f s (the list is read every 0.25 s)\n", took.Seconds())
	return printSteps(s, ctx, nodes[0].UUID)
}

func printSteps(s *stack.Stack, ctx context.Context, uuid string) error {
	var page struct {
		Operations []struct {
			Steps []struct {
				Interface string     `json:"interface"`
				Step      string     `json:"step"`
				Started   *time.Time `json:"started_at"`
				Ended     *time.Time `json:"ended_at"`
			} `json:"steps"`
		} `json:"operations"`
	}
	if err := s.Call(ctx, http.MethodGet, "/temper/v1/operations?kind=deploy&node="+uuid, nil, &page); err != nil {
		return err
	}
	if len(page.Operations) == 0 {
		return fmt.Errorf("no deploy operation of node %s", uuid)
	}
	steps := page.Operations[0].Steps
	sort.SliceStable(steps, func(i, j int) bool {
		return steps[i].Started != nil && steps[j].Started != nil && steps[i].Started.Before(*steps[j].Started)
	})
	for _, st := range steps {
		if st.Started != nil && st.Ended != nil {
			fmt.Printf("    %-34s %6.2f s\n", st.Interface+"."+st.Step, st.Ended.Sub(*st.Started).Seconds())
		}
	}
	return nil
}
