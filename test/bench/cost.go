package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"

	"go.temper.dev/temper/test/stack"
)

// spent is what PostgreSQL has done so far: transactions, bytes of its log.
type spent struct {
	at                  time.Time
	transactions, bytes float64
}

// since returns what was done between two readings, less what an idle stack does in the same
// time.
func (a spent) since(b spent, idle spent) spent {
	seconds := a.at.Sub(b.at).Seconds()
	return spent{transactions: a.transactions - b.transactions - seconds*idle.transactions, bytes: a.bytes - b.bytes - seconds*idle.bytes}
}

// countedWithin is how long it takes until the statistics have what a connection did before
// it became idle (PGSTAT_IDLE_INTERVAL), with a margin.
const countedWithin = 11 * time.Second

// spentBy reads from the statistics what PostgreSQL has done so far.
func spentBy(ctx context.Context, db *pgx.Conn) (s spent, err error) {
	time.Sleep(countedWithin)
	s.at = time.Now()
	err = db.QueryRow(ctx, `SELECT (xact_commit + xact_rollback)::float8, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8
		FROM pg_stat_database WHERE datname = current_database()`).Scan(&s.transactions, &s.bytes)
	return s, err
}

// benchCost measures what one operation costs in Temporal's events and in PostgreSQL.
func benchCost(ctx context.Context, o options) error {
	const count = 200
	fmt.Printf("# Cost of an operation, fake hardware, mean of %d at once; what the idle stack costs in the same time is taken off\n", count)
	s, err := stack.Start(ctx, o.temper, "", "--nodes", "0", "--enroll=false", "--conductors", "2", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	t, err := client.DialContext(ctx, client.Options{HostPort: s.TemporalAddress, Namespace: "temper"})
	if err != nil {
		return err
	}
	defer t.Close()
	if err := s.Prepare(ctx, count); err != nil {
		return err
	}
	if err := setImage(s, ctx); err != nil {
		return err
	}
	idle, err := idleCost(ctx, db)
	if err != nil {
		return err
	}
	for _, leg := range []struct{ kind, from, verb, to string }{
		{"deploy", "available", "active", "active"}, {"undeploy", "active", "deleted", "available"},
	} {
		before, err := spentBy(ctx, db)
		if err != nil {
			return err
		}
		if _, err := s.Move(ctx, count, leg.from, leg.verb, leg.to); err != nil {
			return err
		}
		after, err := spentBy(ctx, db)
		if err != nil {
			return err
		}
		used := after.since(before, idle)
		events, bytes, err := historyOf(s, ctx, t, leg.kind)
		if err != nil {
			return err
		}
		fmt.Printf("  %-8s %5.1f events and %6.0f bytes of history in Temporal; %5.1f transactions and %6.0f bytes of WAL in PostgreSQL\n", leg.kind, events, bytes,
			used.transactions/count, used.bytes/count)
	}
	return nil
}

// idleCost measures what a second without operations costs.
func idleCost(ctx context.Context, db *pgx.Conn) (spent, error) {
	before, err := spentBy(ctx, db)
	if err != nil {
		return spent{}, err
	}
	time.Sleep(time.Minute - countedWithin) // conductors read the power of every node once
	after, err := spentBy(ctx, db)
	seconds := after.at.Sub(before.at).Seconds()
	return spent{transactions: (after.transactions - before.transactions) / seconds, bytes: (after.bytes - before.bytes) / seconds}, err
}

// historyOf is the mean length and size of the histories of a kind of operation.
func historyOf(s *stack.Stack, ctx context.Context, t client.Client, kind string) (events, bytes float64, err error) {
	var page struct {
		Operations []struct {
			WorkflowID string `json:"workflow_id"`
		} `json:"operations"`
	}
	if err := s.Call(ctx, http.MethodGet, "/temper/v1/operations?limit=100&kind="+kind, nil, &page); err != nil {
		return 0, 0, err
	}
	for _, op := range page.Operations {
		d, err := t.DescribeWorkflowExecution(ctx, op.WorkflowID, "")
		if err != nil {
			return 0, 0, err
		}
		events += float64(d.GetWorkflowExecutionInfo().GetHistoryLength())
		bytes += float64(d.GetWorkflowExecutionInfo().GetHistorySizeBytes())
	}
	n := float64(max(len(page.Operations), 1))
	return events / n, bytes / n, nil
}
