package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"go.temper.dev/temper/activities/reconcile"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/ring"
	"go.temper.dev/temper/test/stack"
	"go.temper.dev/temper/workflows"
)

// The fleet that a reconciliation is measured with.
const (
	benchGroups     = 20
	benchConductors = 100
	benchServices   = 50
	benchOpen       = 1000
	benchDying      = 10
)

// benchReconcile measures ticks of the reconciliation of a real orchestrator over
// fleets of several sizes, and the ring alone.
func benchReconcile(ctx context.Context, o options) error {
	fmt.Printf("# One reconciliation: %d conductors, %d groups and drivers, %d compute services, %d open operations\n",
		benchConductors, benchGroups, benchServices, benchOpen)
	fmt.Println("# goals at 100,000 nodes: under 2 s in steady state, under 5 s when ten conductors die, orchestrator under 200 MiB")
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		if err := reconcileOver(ctx, o, nodes); err != nil {
			return err
		}
	}
	benchRing(1_000_000, 1000)
	return nil
}

// benchRing measures the computation of a ring with so many nodes and members.
func benchRing(nodes, members int) {
	f := ring.Fleet{Covers: [][]int{nil}}
	for i := range members {
		f.Members, f.Covers[0] = append(f.Members, fmt.Sprintf("conductor-%04d", i)), append(f.Covers[0], i)
	}
	for i := range nodes {
		f.Nodes = append(f.Nodes, ring.Node{Key: fmt.Sprintf("%08x-03f2-4d2e-ae87-c02d7f33c123", i), Owner: ring.None})
	}
	turn := func(what string) {
		began := time.Now()
		owners := ring.Balance(f)
		took := time.Since(began)
		load, moved, most := make([]int, members), 0, 0
		for i, m := range owners {
			if f.Nodes[i].Owner != m {
				moved++
			}
			f.Nodes[i].Owner = m
			load[m]++
			most = max(most, load[m])
		}
		fmt.Printf("ring alone, %d nodes, %d conductors, %-22s %6.2f s, moved %7d, max/mean %.3f\n",
			nodes, len(f.Covers[0]), what+":", took.Seconds(), moved, float64(most)*float64(len(f.Covers[0]))/float64(nodes))
	}
	turn("from nothing")
	f.Covers[0] = f.Covers[0][benchDying:]
	turn("ten die")
	turn("nothing happens")
}

// fleet is a stack whose database has more conductors and compute services than run. They
// are alive as long as it writes their heartbeats.
type fleet struct {
	*stack.Stack
	db       *pgx.Conn
	temporal client.Client
	dead     int   // conductors that are not kept alive
	rows     int64 // written so far
}

func reconcileOver(ctx context.Context, o options, nodes int) (err error) {
	s, err := stack.Start(ctx, o.temper, "reconcile_interval: 1h\n", "--nodes", "0", "--enroll=false", "--conductors", "1", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	f := &fleet{Stack: s}
	if f.db, err = pgx.Connect(ctx, s.DatabaseURL); err != nil {
		return err
	}
	defer func() { _ = f.db.Close(ctx) }()
	if f.temporal, err = client.DialContext(ctx, client.Options{HostPort: s.TemporalAddress, Namespace: s.TemporalNamespace}); err != nil {
		return err
	}
	defer f.temporal.Close()
	if err := f.fill(ctx, nodes); err != nil {
		return err
	}
	for _, turn := range []struct {
		what string
		dead int
		do   string
	}{
		{what: "from nothing"},
		{what: "steady state"},
		{what: "steady state"},
		{what: "one node made", do: `INSERT INTO nodes (uuid, driver, conductor_group, provision_state) VALUES (gen_random_uuid(), 'driver-0', 'group-0', 'enroll')`},
		{what: "ten conductors die", dead: benchDying},
		{what: "steady state", dead: benchDying},
	} {
		f.dead = turn.dead
		if turn.do != "" {
			if _, err := f.db.Exec(ctx, turn.do); err != nil {
				return err
			}
		}
		if err := f.tick(ctx, fmt.Sprintf("%6d nodes, %-19s", nodes, turn.what+":")); err != nil {
			return err
		}
	}
	for _, p := range s.Processes {
		if p.Role == "orchestrator" {
			fmt.Printf("%6d nodes, orchestrator: %.0f MiB at its most\n", nodes, float64(peakOf(p.PID))/(1<<20))
		}
	}
	return nil
}

// fill writes the rows that the API, the conductors and the services would have written.
func (f *fleet) fill(ctx context.Context, nodes int) error {
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO conductors (hostname, incarnation, conductor_group, interfaces)
			SELECT 'bench-' || i, nextval('conductor_incarnations'), 'group-' || i %% %d,
				jsonb_build_object('driver-' || i %% %[1]d, '{"power": ["fake"], "boot": ["fake"]}'::jsonb)
			FROM generate_series(0, %d) AS i`, benchGroups, benchConductors-1),
		fmt.Sprintf(`INSERT INTO nodes (uuid, name, driver, conductor_group, provision_state, power_state, resource_class, interfaces)
			SELECT gen_random_uuid(), 'bench-' || i, 'driver-' || i %% %d, 'group-' || i %% %[1]d, 'available', 'power off', 'gold', '{"power": "fake", "boot": "fake"}'
			FROM generate_series(1, %d) AS i`, benchGroups, nodes),
		fmt.Sprintf(`INSERT INTO compute_services (host, incarnation, partition_key, lease_until)
			SELECT 'service-' || i, 1, 'group-' || i %% %d, clock_timestamp() + interval '15 seconds' FROM generate_series(1, %d) AS i`, benchGroups, benchServices),
		`UPDATE share_epoch SET revision = revision + 1`,
		`ANALYZE`,
	} {
		if _, err := f.db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := f.open(ctx); err != nil {
		return err
	}
	return f.count(ctx)
}

// open starts workflows that no worker runs, and writes their operations.
func (f *fleet) open(ctx context.Context) error {
	rows, err := f.db.Query(ctx, fmt.Sprintf(`
		INSERT INTO operations (node_id, node_uuid, kind, phase, origin, target, conductor_group, driver)
		SELECT n.id, n.uuid, 'deploy', 'running', 'available', 'active', n.conductor_group, n.driver FROM nodes n ORDER BY n.id LIMIT %d
		RETURNING id, node_uuid::text, workflow_suffix`, benchOpen))
	if err != nil {
		return err
	}
	type open struct {
		ID           int64
		UUID, Suffix string
	}
	ops, err := pgx.CollectRows(rows, pgx.RowToStructByPos[open])
	if err != nil {
		return err
	}
	for _, o := range ops {
		run, err := f.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: node.WorkflowID(o.UUID, node.KindDeploy, o.ID, o.Suffix), TaskQueue: "nobody",
		}, node.KindDeploy.Spec().Workflow)
		if err != nil {
			return err
		}
		if _, err := f.db.Exec(ctx, `UPDATE operations SET begun_at = now(), run_id = $2 WHERE id = $1`, o.ID, run.GetRunID()); err != nil {
			return err
		}
	}
	return nil
}

// live writes a heartbeat of each conductor and service that is to be alive.
func (f *fleet) live(ctx context.Context) error {
	_, err := f.db.Exec(ctx, `UPDATE conductors SET heartbeat_at = clock_timestamp() - CASE WHEN id % 100 < $1 THEN interval '1 minute' ELSE '0' END,
		polled_at = clock_timestamp() WHERE hostname LIKE 'bench-%'`, f.dead)
	if err == nil {
		_, err = f.db.Exec(ctx, `UPDATE compute_services SET seen_at = clock_timestamp(), lease_until = clock_timestamp() + interval '15 seconds'`)
	}
	return err
}

// tick runs one reconciliation and prints what it took, and what it wrote.
func (f *fleet) tick(ctx context.Context, what string) error {
	if err := f.live(ctx); err != nil {
		return err
	}
	if err := f.Call(ctx, "POST", "/temper/v1/reconcile", nil, nil); err != nil {
		return err
	}
	asked := time.Now()
	for {
		did, err := f.newest(ctx, asked)
		if err != nil {
			return err
		}
		if did != nil {
			before := f.rows
			err := f.count(ctx)
			fmt.Printf("%s took %8s, epoch %d, moved %6d, quarantined %6d, rows written %6d\n", what, did.Took, did.Epoch, did.Moved, did.Quarantined, f.rows-before)
			if len(did.Failed) > 0 {
				fmt.Println("  failed:", strings.Join(did.Failed, "; "))
			}
			return err
		}
		if time.Since(asked) > 2*time.Minute {
			return errors.New("no reconciliation ended within two minutes")
		}
		if err := f.live(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// statsIdle is how long it takes until an idle session has reported what it wrote (PGSTAT_IDLE_INTERVAL).
const statsIdle = 11 * time.Second

// count counts rows inserted, updated and deleted so far in the tables that a
// tick writes.
func (f *fleet) count(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(statsIdle):
	}
	return f.db.QueryRow(ctx, `SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint FROM pg_stat_user_tables
		WHERE relname NOT IN ('conductors', 'compute_services', 'witness')`).Scan(&f.rows)
}

// newest returns what the newest reconciliation that began after a time has done; nil = none
// has ended yet.
func (f *fleet) newest(ctx context.Context, after time.Time) (*reconcile.TickResult, error) {
	c, err := client.NewClientFromExistingWithContext(ctx, f.temporal, client.Options{Namespace: f.TemporalReconcile})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus != 'Running' AND StartTime > '%s'", workflows.ReconcileType, after.Add(-time.Second).Format(time.RFC3339Nano)), PageSize: 1,
	})
	if err != nil || len(page.GetExecutions()) == 0 {
		return nil, err
	}
	e := page.GetExecutions()[0].GetExecution()
	events := c.GetWorkflowHistory(ctx, e.GetWorkflowId(), e.GetRunId(), false, 0)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, err
		}
		if done := event.GetActivityTaskCompletedEventAttributes(); done != nil {
			var did reconcile.TickResult
			return &did, converter.GetDefaultDataConverter().FromPayloads(done.GetResult(), &did)
		}
	}
	return nil, errors.New("a reconciliation failed")
}
