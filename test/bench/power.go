package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/test/stack"
)

const (
	powerBMCs    = 10_000
	powerLatency = 200 * time.Millisecond
	powerWatched = 30 * time.Second // of readings of BMCs that the conductor knows
	powerPoll    = 250 * time.Millisecond
	powerWithin  = 15 * time.Minute
)

// benchPower measures how one conductor reads the power of a large fleet: first of BMCs that it has never asked, which
// costs a login and what it takes to know the machine, then again and again of BMCs that it knows.
func benchPower(ctx context.Context, o options) error {
	fmt.Printf("# Power of %d BMCs, read by one conductor, answers take %s\n", powerBMCs, powerLatency)
	fmt.Printf("  Ironic 21.4: 57 s of a conductor's CPU for 10,000; one connection to each BMC can carry %.0f requests a second\n",
		powerBMCs/powerLatency.Seconds())
	s, err := stack.Start(ctx, o.temper, "sync_power_state_interval: 1s\nhealth_interval: 0s\nbmc_events: false\nrack_ipmi: false\n",
		"--nodes", fmt.Sprint(powerBMCs), "--enroll=false", "--conductors", "1", "--drivers", "redfish", "--persona", "generic",
		"--bmc-latency", powerLatency.String())
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	if err := enrolRack(ctx, s); err != nil {
		return err
	}
	before, asked, err := readings(ctx, s)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := db.Exec(ctx, "UPDATE nodes SET provision_state = 'available'"); err != nil {
		return err
	}
	if err := allRead(ctx, db); err != nil {
		return err
	}
	if err := printReadings(ctx, s, "never asked before", before, asked, began); err != nil {
		return err
	}
	if before, asked, err = readings(ctx, s); err != nil {
		return err
	}
	began = time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(powerWatched):
	}
	return printReadings(ctx, s, "again", before, asked, began)
}

// enrolRack makes a node of each server of the rack.
func enrolRack(ctx context.Context, s *stack.Stack) error {
	nodes, err := dev.RackNodes(ctx, s.RackURL, map[string]int{"redfish": powerBMCs})
	if err != nil {
		return err
	}
	byName, rows := make(map[string]dev.Node, len(nodes)), make([]stack.Node, len(nodes))
	for i, n := range nodes {
		byName[n.Name], rows[i].Name = n, n.Name
	}
	return stack.Each(rows, 16, func(row stack.Node) error {
		n := byName[row.Name]
		return s.Call(ctx, http.MethodPost, "/v1/nodes", map[string]any{
			"name": n.Name, "driver": n.Driver, "driver_info": n.DriverInfo, "resource_class": n.ResourceClass,
		}, nil)
	})
}

// allRead waits until the power of each node has been read.
func allRead(ctx context.Context, db *pgx.Conn) error {
	for deadline := time.Now().Add(powerWithin); ; time.Sleep(powerPoll) {
		var left int
		if err := db.QueryRow(ctx, "SELECT count(*) FROM nodes WHERE power_read_at IS NULL").Scan(&left); err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the power of %d nodes was not read within %s", left, powerWithin)
		}
	}
}

// readings returns the processor time by role, and how many requests the BMCs of the rack have had.
func readings(ctx context.Context, s *stack.Stack) (cpu map[string]time.Duration, requests int, err error) {
	servers, err := s.Servers(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, sv := range servers {
		requests += sv.Requests
	}
	return usage(s), requests, nil
}

func printReadings(ctx context.Context, s *stack.Stack, what string, before map[string]time.Duration, asked int, began time.Time) error {
	took := time.Since(began)
	now := usage(s)
	_, requests, err := readings(ctx, s)
	if err != nil {
		return err
	}
	cpu := func(role string) time.Duration { return now[role] - before[role] }
	requests -= asked
	fmt.Printf("  %-18s %6d requests in %5.1f s: %5.0f a second; CPU seconds for %d requests: conductor %.1f, PostgreSQL %.1f\n",
		what, requests, took.Seconds(), float64(requests)/took.Seconds(), powerBMCs,
		cpu("conductor").Seconds()*powerBMCs/float64(max(requests, 1)), cpu("postgres").Seconds()*powerBMCs/float64(max(requests, 1)))
	for _, p := range s.Of("conductor") {
		fmt.Printf("  %-18s conductor's memory %d MiB\n", "", rssOf(p.PID)>>20)
	}
	return nil
}
