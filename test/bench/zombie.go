package main

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/test/stack"
	"go.temper.dev/temper/test/valve"
)

// watched is a conductor whose traffic to BMCs goes through a proxy of the test.
type watched struct {
	name  string
	run   *dev.Running
	proxy *valve.Proxy
}

// benchZombie measures how long a step is interrupted when its conductor is frozen, and for
// how long that conductor still sends requests to the BMC when it is continued.
func benchZombie(ctx context.Context, o options) error {
	fmt.Println("# A conductor frozen (SIGSTOP) in the middle of a power change, and continued; default settings")
	fmt.Println("  goals: elsewhere < 10 s for one, < 20 s for two; silent within one pause between heartbeats (1.5 s)")
	rounds := max(o.kills/4, 2)
	s, err := stack.Start(ctx, o.temper, "power_timeout: 600s\nsync_power_state_interval: 0s\nhealth_interval: 0s\n", "--nodes", fmt.Sprint(2*rounds), "--conductors", "1", "--drivers", "redfish")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	if _, err := s.Move(ctx, 2*rounds, "enroll", "manage", "manageable"); err != nil {
		return err
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	crew, err := watchedConductors(s, ctx, 3)
	if err != nil {
		return err
	}
	defer func() {
		for _, w := range crew {
			_ = w.proxy.Close()
		}
	}()
	if err := s.Faults(ctx, []map[string]any{{"kind": "slow_power", "delay": "900s", "count": 0}}); err != nil {
		return err
	}
	for frozen := 1; frozen <= 2; frozen++ {
		var away, silent []time.Duration
		for i := range rounds {
			a, q, err := freezeRound(s, ctx, crew, nodes[(frozen-1)*rounds+i], frozen)
			if err != nil {
				return fmt.Errorf("%d frozen, round %d: %w", frozen, i, err)
			}
			away, silent = append(away, a), append(silent, q)
		}
		fmt.Printf("  %d of 3 frozen, %d times: elsewhere median %.2f s, longest %.2f s; silent after SIGCONT median %.3f s, longest %.3f s\n",
			frozen, rounds, median(away).Seconds(), longest(away).Seconds(), median(silent).Seconds(), longest(silent).Seconds())
	}
	return nil
}

// watchedConductors starts n conductors, each behind a proxy of its own, and ends those of
// the stack.
func watchedConductors(s *stack.Stack, ctx context.Context, n int) ([]*watched, error) {
	var crew []*watched
	for i := range n {
		proxy, err := valve.NewProxy()
		if err != nil {
			return nil, err
		}
		w := &watched{name: fmt.Sprintf("watched-%d", i+1), proxy: proxy}
		w.run, err = s.Role(ctx, "conductor", w.name, []string{"TEMPER_BMC_PROXY=" + proxy.URL()},
			"--name", w.name, "--enabled-drivers", "redfish")
		if err != nil {
			return nil, err
		}
		crew = append(crew, w)
	}
	for _, p := range s.Of("conductor") {
		if err := syscall.Kill(p.PID, syscall.SIGTERM); err != nil {
			return nil, err
		}
	}
	return crew, nil
}

// freezeRound asks for a power change that never ends, and freezes the conductor that works
// on it, together with others. It returns how long it took until another conductor had the
// step, and for how long the first one still sent requests when all were continued.
func freezeRound(s *stack.Stack, ctx context.Context, crew []*watched, n stack.Node, frozen int) (away, silent time.Duration, err error) {
	err = s.Call(ctx, http.MethodPut, "/v1/nodes/"+n.UUID+"/states/power", map[string]any{"target": "power on"}, nil)
	if err != nil {
		return 0, 0, err
	}
	var shown struct {
		Info struct {
			Address string `json:"redfish_address"`
		} `json:"driver_info"`
	}
	if err := s.Call(ctx, http.MethodGet, "/v1/nodes/"+n.UUID, nil, &shown); err != nil {
		return 0, 0, err
	}
	address := shown.Info.Address
	first, id, err := holder(s, ctx, n, nil)
	if err != nil {
		return 0, 0, err
	}
	stopped := map[string]*watched{}
	for _, w := range crew {
		if w.name == first {
			stopped[first] = w
		}
	}
	for _, w := range crew {
		if len(stopped) < frozen {
			stopped[w.name] = w
		}
	}
	began := time.Now()
	for _, w := range stopped {
		if err := syscall.Kill(w.run.Pid(), syscall.SIGSTOP); err != nil {
			return 0, 0, err
		}
	}
	if _, _, err = holder(s, ctx, n, stopped); err != nil {
		return 0, 0, err
	}
	away = time.Since(began)
	began = time.Now()
	for _, w := range stopped {
		if err := syscall.Kill(w.run.Pid(), syscall.SIGCONT); err != nil {
			return 0, 0, err
		}
	}
	select {
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	case <-time.After(4 * time.Second): // time for four more readings of the power
	}
	// Only this node's BMC is watched, because a conductor logs out of the others when it has not used them for a while.
	if last := stopped[first].proxy.Asked(address); last.After(began) {
		silent = last.Sub(began)
	}
	return away, silent, s.Call(ctx, http.MethodPost, "/temper/v1/operations/"+id+"/cancel", map[string]any{"reason": "measured"}, nil)
}

// holder waits until a conductor works on the node that is none of these.
func holder(s *stack.Stack, ctx context.Context, n stack.Node, but map[string]*watched) (conductor, id string, err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		ops, err := running(s, ctx)
		if err != nil {
			return "", "", err
		}
		for _, op := range ops {
			if op.Node == n.UUID && op.Conductor != "" && but[op.Conductor] == nil && len(op.Steps) > 0 && op.Steps[0].State == "running" {
				return op.Conductor, op.ID, nil
			}
		}
	}
	return "", "", fmt.Errorf("nobody took the step of node %s within a minute", n.UUID)
}
