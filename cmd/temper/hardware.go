package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc/fake"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/worker"
)

// logoutWithin bounds the end: a BMC that does not answer forgets its session by itself.
const logoutWithin = 2 * time.Second

// logout ends the sessions with all BMCs. ctx may be over already.
func logout(ctx context.Context, h worker.Hardware) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutWithin)
	defer cancel()
	h.Close(ctx)
}

// checkHardware is what of a conductor's settings package config can't know.
func checkHardware(c *config.Conductor) error {
	var unknown []string
	for _, name := range c.Drivers {
		if !slices.Contains(node.HardwareTypes(), name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("enabled_drivers: no hardware type %s; want some of %s",
			strings.Join(unknown, ", "), strings.Join(node.HardwareTypes(), ", "))
	}
	if _, err := fake.ParseDelays(c.Fake); err != nil {
		return fmt.Errorf("fake: %w", err)
	}
	return nil
}

// callbacks says which addresses of agents are believed.
func callbacks(r config.Rules) agent.CallbackPolicy {
	return agent.CallbackPolicy{AllowHTTP: !r.AgentTLS, AllowLoopback: r.AgentLoopback}
}
