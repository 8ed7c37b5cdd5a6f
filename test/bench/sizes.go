package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"go.temper.dev/temper/test/stack"
)

const (
	closedWorkflows = "ExecutionStatus != 'Running'"
	sweptWithin     = 20 * time.Minute
)

// sizes prints what the databases have after a run, and then, with all that may be deleted deleted. Temper's own retention runs as always,
// with event_retention at one second. Temporal's shortest retention is longer than this run, so that the closed workflows are deleted
// one by one, which does in Temporal what the end of the retention does.
func (t *tenRun) sizes(ctx context.Context, o options) error {
	if err := t.printSizes(ctx, "after the run"); err != nil {
		return err
	}
	if err := t.deleteWorkflows(ctx); err != nil {
		return err
	}
	if err := t.restart(ctx, o, "event_retention: 1s\ndeleted_node_retention: 1s\n"); err != nil {
		return err
	}
	if err := t.swept(ctx); err != nil {
		return err
	}
	if err := t.printSizes(ctx, "after retention"); err != nil {
		return err
	}
	if _, err := t.db.Exec(ctx, "VACUUM FULL"); err != nil {
		return err
	}
	return t.printSizes(ctx, "and VACUUM FULL")
}

// restart ends the stack and starts it with other settings on the same data.
func (t *tenRun) restart(ctx context.Context, o options, settings string) error {
	if err := errors.Join(t.db.Close(ctx), t.End()); err != nil {
		return err
	}
	s, err := stack.Config{
		Temper: o.temper, Dir: t.Dir, Settings: settings,
		Args: []string{"--nodes", "0", "--enroll=false", "--conductors", "2", "--drivers", "fake-hardware"},
	}.Start(ctx)
	if err != nil {
		return err
	}
	t.Stack = s
	t.db, err = pgx.Connect(ctx, s.DatabaseURL)
	return err
}

// swept waits until all events have been judged, and has PostgreSQL use the room of those that are gone.
func (t *tenRun) swept(ctx context.Context) error {
	began := time.Now()
	var last int64
	if err := t.db.QueryRow(ctx, "SELECT max(seq) FROM events").Scan(&last); err != nil {
		return err
	}
	for swept := int64(0); swept < last; {
		if time.Since(began) > sweptWithin {
			return fmt.Errorf("events up to %d, not %d, were judged within %s", swept, last, sweptWithin)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tenPoll):
		}
		if err := t.db.QueryRow(ctx, "SELECT swept_through FROM event_retention").Scan(&swept); err != nil {
			return err
		}
	}
	fmt.Printf("  Temper judged %d events in %s\n", last, brief(time.Since(began)))
	_, err := t.db.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// deleteWorkflows deletes the closed workflows of Temporal.
func (t *tenRun) deleteWorkflows(ctx context.Context) error {
	began, deleted := time.Now(), 0
	for _, namespace := range []string{t.TemporalNamespace, t.TemporalReconcile} {
		c, err := client.DialContext(ctx, client.Options{HostPort: t.TemporalAddress, Namespace: namespace})
		if err != nil {
			return err
		}
		n, err := deleteClosed(ctx, c, namespace)
		c.Close()
		if deleted += n; err != nil {
			return fmt.Errorf("namespace %s: %w", namespace, err)
		}
	}
	fmt.Printf("  Temporal deleted %d closed workflows in %s\n", deleted, brief(time.Since(began)))
	return nil
}

func deleteClosed(ctx context.Context, c client.Client, namespace string) (int, error) {
	var all []*commonpb.WorkflowExecution
	for token := []byte(nil); ; {
		page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: closedWorkflows, PageSize: 1000, NextPageToken: token})
		if err != nil {
			return 0, err
		}
		for _, e := range page.Executions {
			all = append(all, e.Execution)
		}
		if token = page.NextPageToken; len(token) == 0 {
			break
		}
	}
	err := stack.Each(all, 50, func(e *commonpb.WorkflowExecution) error {
		_, err := c.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{Namespace: namespace, WorkflowExecution: e})
		if gone := new(serviceerror.NotFound); errors.As(err, &gone) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	for deadline := time.Now().Add(sweptWithin); time.Now().Before(deadline); time.Sleep(tenPoll) { // a deletion is a task of Temporal
		left, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: closedWorkflows})
		if err != nil {
			return 0, err
		}
		if left.Count <= int64(20+len(all)/100) { // reconciliations go on
			return len(all), nil
		}
	}
	return 0, fmt.Errorf("not all workflows were deleted within %s", sweptWithin)
}

// printSizes prints the sizes of both databases and of Temper's largest tables.
func (t *tenRun) printSizes(ctx context.Context, when string) error {
	var size int64
	if err := t.db.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
		return err
	}
	file, free, err := sqliteSize(filepath.Join(t.Dir, "data", "temporal"))
	if err != nil {
		return err
	}
	fmt.Printf("  %-16s Temper's database %s MiB:%s; Temporal's files %s MiB, of which %s free\n", when, mebi(size), t.tables(ctx), mebi(file), mebi(free))
	return nil
}

// tables describes the largest tables of Temper.
func (t *tenRun) tables(ctx context.Context) (out string) {
	rows, err := t.db.Query(ctx, `SELECT c.relname::text, pg_total_relation_size(c.oid), pg_table_size(c.oid), (xpath('/row/n/text()',
			query_to_xml(format('SELECT count(*) AS n FROM %I', c.relname), false, true, '')))[1]::text::bigint
		  FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE c.relkind = 'r' AND s.nspname = 'public'
		 ORDER BY 2 DESC LIMIT 6`)
	if err != nil {
		return " " + err.Error()
	}
	var name string
	var total, table, count int64
	_, err = pgx.ForEachRow(rows, []any{&name, &total, &table, &count}, func() error {
		out += fmt.Sprintf(" %s %s (%d rows, indexes %s),", name, mebi(total), count, mebi(total-table))
		return nil
	})
	if err != nil {
		return " " + err.Error()
	}
	return out
}

// sqliteSize returns the bytes of the files in a folder of temporal-dev, and those of the pages that its database does not use.
// https://www.sqlite.org/fileformat2.html#the_database_header has the offsets.
func sqliteSize(dir string) (total, free int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if err == nil {
			total += i.Size()
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	f, err := os.Open(filepath.Join(dir, "temporal.db"))
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	var head [100]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return 0, 0, err
	}
	return total, int64(binary.BigEndian.Uint16(head[16:])) * int64(binary.BigEndian.Uint32(head[36:])), nil
}

func mebi(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/(1<<20)) }
