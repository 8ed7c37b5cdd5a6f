package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/test/stack"
)

const (
	whyNodes  = 100_000
	whyAsked  = 21 // times each
	whyCauses = 10
)

// benchWhy measures, through the API, how long the pages take of what needs a person.
func benchWhy(ctx context.Context, o options) error {
	fmt.Printf("# What needs a person, of %d nodes, median and longest of %d answers of the API; goal: under 100 ms\n", whyNodes, whyAsked)
	s, err := stack.Start(ctx, o.temper, "sync_power_state_interval: 0s\nhealth_interval: 0s\n", "--nodes", "0", "--enroll=false", "--conductors", "1", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	causes := fault.Causes()[:whyCauses]
	for _, turn := range []struct{ what, do string }{
		{"nothing wrong", fmt.Sprintf(`INSERT INTO nodes (uuid, name, driver, conductor_group, provision_state, power_state, resource_class, interfaces)
			SELECT gen_random_uuid(), 'bench-' || i, 'fake-hardware', '', 'available', 'power off', 'gold', '{"power": "fake", "boot": "fake"}'
			FROM generate_series(1, %d) AS i`, whyNodes)},
		{"one in a thousand failed", failNodes(1000, causes)},
		{"one in ten failed, of ten causes", failNodes(10, causes)},
		{"all: the others have no conductor", `UPDATE nodes SET driver = 'nobody-has-it' WHERE id % 10 > 0`},
	} {
		for _, sql := range []string{turn.do, "ANALYZE"} {
			if _, err := db.Exec(ctx, sql); err != nil {
				return err
			}
		}
		if err := awaitCounts(ctx, db); err != nil {
			return err
		}
		if err := askWhy(ctx, s, turn.what, causes[0]); err != nil {
			return err
		}
	}
	return nil
}

// failNodes returns the statement with which one in so many nodes has failed, of the causes in turn.
func failNodes(one int, causes []fault.Code) string {
	return fmt.Sprintf(`
		WITH failed AS (UPDATE nodes SET provision_state = 'deploy failed', last_error = 'bench' WHERE id %% %d = 0 AND provision_state = 'available' RETURNING id, uuid, conductor_group, driver)
		INSERT INTO operations (node_id, node_uuid, kind, phase, outcome, ended_at, error, cause, origin, conductor_group, driver)
		SELECT id, uuid, 'deploy', 'ended', 'failed', now(), 'bench', ('{%s}'::text[])[1 + id / %d %% %d], 'available', conductor_group, driver FROM failed`,
		one, joined(causes), one, len(causes))
}

// awaitCounts waits until a reconciliation has added up the counts of the nodes that were written at once.
func awaitCounts(ctx context.Context, db *pgx.Conn) error {
	const most = 100
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		var rows int
		if err := db.QueryRow(ctx, "SELECT count(*) FROM node_counts").Scan(&rows); err != nil {
			return fmt.Errorf("wait until the counts of nodes are added up: %w", err)
		}
		if rows < most {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// askWhy asks for each page again and again, and prints how long it took.
func askWhy(ctx context.Context, s *stack.Stack, when string, cause fault.Code) error {
	for _, page := range []struct{ what, query string }{
		{"groups", "?group=cause"},
		{"groups of a resource class", "?group=cause&resource_class=gold"},
		{"groups of a conductor group", "?group=cause&conductor_group="},
		{"groups of a driver", "?group=cause&driver=nobody-has-it"},
		{"groups of a state", "?group=cause&provision_state=available"},
		{"groups of a reason", "?group=cause&reason=failed"},
		{"first page", "?limit=100"},
		{"first page of 1,000", "?limit=1000"},
		{"page of the failed", fmt.Sprintf("?limit=100&marker=2.%d", whyNodes/2)},
		{"page of the quarantined", fmt.Sprintf("?limit=100&marker=8.%d", whyNodes/2)},
		{"page of a resource class", "?limit=100&resource_class=gold"},
		{"page of a class without nodes", "?limit=100&resource_class=tin"},
		{"nodes of a cause", "?limit=100&cause=" + string(cause)},
		{"nodes without a conductor", "?limit=100&cause=no_conductor"},
	} {
		var took []time.Duration
		before := usage(s)
		for range whyAsked {
			began := time.Now()
			if err := s.Call(ctx, http.MethodGet, "/temper/v1/why"+page.query, nil, nil); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		fmt.Printf("  %-34s %-30s %6.1f ms, at most %6.1f ms; %s\n", when+":", page.what, ms(median(took)), ms(slices.Max(took)), perDeploy(before, usage(s), whyAsked))
	}
	return nil
}

// joined returns the codes with commas between them.
func joined(codes []fault.Code) string {
	var out []string
	for _, c := range codes {
		out = append(out, string(c))
	}
	return strings.Join(out, ",")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
