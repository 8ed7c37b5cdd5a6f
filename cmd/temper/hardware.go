package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/fake"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// drivers are the hardware types that this program can speak to, by name.
type drivers map[string]bmc.Driver

// newDrivers makes them all. They touch nothing until somebody opens a conversation.
func newDrivers(request time.Duration, delays fake.Delays, observe redfish.Observer) drivers {
	return drivers{
		"redfish":       redfish.New(redfish.Config{Settings: bmc.Settings{RequestTimeout: request}, Observer: observe}),
		"fake-hardware": fake.New(delays),
	}
}

// Validate checks driver_info for the API.
func (d drivers) Validate(driver string, info map[string]any) error {
	one, ok := d[driver]
	if !ok {
		return fault.New(fault.Invalid, "no hardware type %q", driver)
	}
	return one.Validate(info)
}

// Properties documents driver_info for the API.
func (d drivers) Properties(driver string) map[string]string {
	if one, ok := d[driver]; ok {
		return one.Properties()
	}
	return nil
}

// logoutWithin bounds the end: a BMC that does not answer forgets its session by itself.
const logoutWithin = 2 * time.Second

// close logs out of all BMCs. ctx may be over already.
func (d drivers) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutWithin)
	defer cancel()
	for _, one := range d {
		one.Close(ctx)
	}
}

// enabled is what a conductor that serves these hardware types can do: all that they support.
func enabled(names []string) map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for _, name := range names {
		if h, ok := node.Hardware(name); ok {
			all[name] = h.Supports
		}
	}
	return all
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
