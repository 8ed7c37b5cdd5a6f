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
	before, err := readingsNow(ctx, s, db)
	if err != nil {
		return err
	}
	if _, err := db.Exec(ctx, "UPDATE nodes SET provision_state = 'available'"); err != nil {
		return err
	}
	if err := allRead(ctx, db); err != nil {
		return err
	}
	if err := printReadings(ctx, s, db, "never asked before", before); err != nil {
		return err
	}
	if before, err = readingsNow(ctx, s, db); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(powerWatched):
	}
	return printReadings(ctx, s, db, "again", before)
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

// readings is what the reading of power states has cost up to a moment.
type readings struct {
	at       time.Time
	cpu      map[string]time.Duration // by role
	requests int                      // that the BMCs of the rack have had
	commits  int                      // transactions of the database
	wal      int                      // bytes
}

func readingsNow(ctx context.Context, s *stack.Stack, db *pgx.Conn) (r readings, err error) {
	servers, err := s.Servers(ctx)
	if err != nil {
		return r, err
	}
	for _, sv := range servers {
		r.requests += sv.Requests
	}
	r.at, r.cpu = time.Now(), usage(s)
	return r, db.QueryRow(ctx, `SELECT xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint FROM pg_stat_database WHERE datname = current_database()`).
		Scan(&r.commits, &r.wal)
}

func printReadings(ctx context.Context, s *stack.Stack, db *pgx.Conn, what string, before readings) error {
	now, err := readingsNow(ctx, s, db)
	if err != nil {
		return err
	}
	took, requests := now.at.Sub(before.at).Seconds(), now.requests-before.requests
	each := powerBMCs / float64(max(requests, 1))
	cpu := func(role string) float64 { return (now.cpu[role] - before.cpu[role]).Seconds() * each }
	fmt.Printf("  %-18s %6d requests in %5.1f s: %5.0f a second; for %d requests: CPU seconds of the conductor %.1f, of PostgreSQL %.1f; %.0f transactions, %.0f KiB of WAL\n",
		what, requests, took, float64(requests)/took, powerBMCs, cpu("conductor"), cpu("postgres"),
		float64(now.commits-before.commits)*each, float64(now.wal-before.wal)*each/1024)
	for _, p := range s.Of("conductor") {
		fmt.Printf("  %-18s conductor's memory %d MiB\n", "", rssOf(p.PID)>>20)
	}
	return nil
}
