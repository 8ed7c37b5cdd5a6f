package main

import (
	"context"
	"fmt"
	"strconv"

	"go.temper.dev/temper/test/stack"
)

// settings make the servers slow enough to watch. A step takes a second, so that several run at any time.
const settings = `
rack_power_delay: 300ms
rack_boot_delay: 1s
rack_step_delay: 1s
`

// demo is a running `temper dev`, and where it is shown.
type demo struct {
	*stack.Stack
	out *screen
}

func start(ctx context.Context, temper string, out *screen) (*demo, error) {
	out.say("Starting PostgreSQL, Temporal, the API, an orchestrator, %d conductors and a rack of %d servers", conductors, servers)
	s, err := stack.Start(ctx, temper, settings, "--enroll=false",
		"--nodes", strconv.Itoa(servers), "--conductors", strconv.Itoa(conductors), "--drivers", "redfish")
	if err != nil {
		return nil, err
	}
	out.say("  API          %s\n  Temporal UI  %s\n  rack         %s/servers", s.APIURL, s.TemporalUIURL, s.RackURL)
	return &demo{Stack: s, out: out}, nil
}

// nodes returns all nodes by name.
func (s *demo) nodes(ctx context.Context) (map[string]stack.Node, error) {
	all, err := s.NodesWith(ctx, "uuid,name,provision_state,power_state,reservation,last_error")
	byName := map[string]stack.Node{}
	for _, n := range all {
		byName[n.Name] = n
	}
	return byName, err
}

// servers returns the servers of the rack by name.
func (s *demo) servers(ctx context.Context) (map[string]stack.Server, error) {
	all, err := s.Servers(ctx)
	byName := map[string]stack.Server{}
	for _, sv := range all {
		byName[sv.Name] = sv
	}
	return byName, err
}

// provision requests a provision state for many nodes at once.
func (s *demo) provision(ctx context.Context, names []string, target string) error {
	return stack.Each(names, len(names), func(name string) error {
		if err := s.Provision(ctx, name, target); err != nil {
			return fmt.Errorf("%s node %s: %w", target, name, err)
		}
		return nil
	})
}

// atWork returns the index of the running step; -1 = none.
func atWork(o stack.Operation) int {
	for i, st := range o.Steps {
		if o.State == "running" && st.State == "running" && st.Conductor != "" {
			return i
		}
	}
	return -1
}
