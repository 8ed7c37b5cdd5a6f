package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/test/stack"
)

const (
	silentFleet = 400 // servers that are deployed
	silentDead  = 100 // servers beside them whose BMCs give no answer

	silentWithin = 8 * time.Minute // until Temper knows of all of them; a BMC that was silent before is given a minute for each answer
	silentPoll   = 250 * time.Millisecond
)

// benchSilent measures how fast a fleet is deployed while the BMC of every fifth server gives no answer.
func benchSilent(ctx context.Context, o options) error {
	fmt.Printf("# Redfish deploys a minute of %d servers, without others and beside %d deploys whose BMCs give no answer, answers take 200 ms\n", silentFleet, silentDead)
	s, err := stack.Start(ctx, o.temper, "", "--nodes", fmt.Sprint(silentFleet+silentDead), "--conductors", "2", "--drivers", "redfish", "--persona", "generic", "--bmc-latency", "200ms")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	if err := provided(ctx, s, silentFleet+silentDead); err != nil {
		return err
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	fleet, dead := nodes[:silentFleet], nodes[silentFleet:]
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	for round := 1; round <= o.rounds; round++ {
		alone, err := deployed(ctx, s, fleet, fmt.Sprintf("round %d, alone", round))
		if err != nil {
			return err
		}
		if err := silence(ctx, s, db, dead); err != nil {
			return err
		}
		beside, err := deployed(ctx, s, fleet, fmt.Sprintf("round %d, beside them", round))
		if err != nil {
			return err
		}
		fmt.Printf("  round %d: %.0f %% of the speed without them\n", round, 100*alone.Seconds()/beside.Seconds())
		if err := revive(ctx, s, dead); err != nil {
			return err
		}
	}
	return nil
}

// silence begins a deploy of each of the nodes, whose BMCs then give no answer, and waits until Temper knows that of all of them.
func silence(ctx context.Context, s *stack.Stack, db *pgx.Conn, nodes []stack.Node) error {
	if err := spoil(ctx, s, nodes, []map[string]any{{"kind": "hang"}}); err != nil {
		return err
	}
	if err := withImage(ctx, s, nodes); err != nil {
		return err
	}
	if err := move(ctx, s, nodes, "active"); err != nil {
		return err
	}
	for deadline := time.Now().Add(silentWithin); ; time.Sleep(silentPoll) {
		var known int
		if err := db.QueryRow(ctx, "SELECT count(*) FROM bmc_silences").Scan(&known); err != nil {
			return err
		}
		if known == len(nodes) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d BMCs, not %d, are known to be silent after %s", known, len(nodes), silentWithin)
		}
	}
}

// revive lets the BMCs of the nodes answer again, waits until their deploys have gone on to the end, and takes the instances off them.
func revive(ctx context.Context, s *stack.Stack, nodes []stack.Node) error {
	if err := spoil(ctx, s, nodes, nil); err != nil {
		return err
	}
	if _, err := s.AwaitState(ctx, nodes, "active", time.Now()); err != nil {
		return err
	}
	return givenBack(ctx, s, nodes)
}

// spoil sets the faults of the servers of the nodes, which have the names of their nodes.
func spoil(ctx context.Context, s *stack.Stack, nodes []stack.Node, faults []map[string]any) error {
	return stack.Each(nodes, 16, func(n stack.Node) error { return s.Spoil(ctx, n.Name, faults) })
}
