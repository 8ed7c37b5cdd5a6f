package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/test/stack"
)

const (
	tenAtOnce = 32 // requests under way
	tenAgain  = 10 // the second round has one node in so many
	tenPoll   = 3 * time.Second
	tenQuiet  = 30 * time.Second // after the legs, to see what memory is given back
)

// tenRun is one run with many nodes.
type tenRun struct {
	*stack.Stack
	db     *pgx.Conn
	memory *memoryLog
	until  time.Time // the legs end then at the latest
}

// errLate says that the time of the legs is over.
var errLate = errors.New("the time is over")

// benchTen takes a large fleet on fake hardware through its whole life, and measures how fast that is, whether a process grows,
// and what stays in the databases.
func benchTen(ctx context.Context, o options) (err error) {
	fmt.Printf("# %d nodes enrolled, made available, deployed and given back, fake hardware without delays, two conductors\n", o.nodes)
	s, err := stack.Start(ctx, o.temper, "", "--nodes", "0", "--enroll=false", "--conductors", "2", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	t := &tenRun{Stack: s, until: time.Now().Add(o.within)}
	defer func() { err = errors.Join(err, t.Stop()) }()
	if t.db, err = pgx.Connect(ctx, s.DatabaseURL); err != nil {
		return err
	}
	defer func() { _ = t.db.Close(ctx) }()
	t.memory = watchMemory(s.Processes)
	defer t.memory.stop()
	err = t.legs(ctx, o)
	t.memory.stop()
	t.memory.print()
	if err != nil && !errors.Is(err, errLate) {
		return err
	}
	return t.sizes(ctx, o)
}

// legs runs the life of all nodes, and part of it a second time with some of them.
func (t *tenRun) legs(ctx context.Context, o options) error {
	count := o.nodes
	if err := t.enrol(ctx, count, o.available); err != nil {
		return err
	}
	nodes, err := t.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, leg := range []struct {
		name, verb, to string
		nodes          []stack.Node
	}{
		{"manage", "manage", "manageable", nodes},
		{"provide", "provide", "available", nodes},
		{"deploy", "active", "active", nodes},
		{"give back", "deleted", "available", nodes},
		{"deploy 2", "active", "active", nodes[:(count+tenAgain-1)/tenAgain]},
		{"give back 2", "deleted", "available", nodes[:(count+tenAgain-1)/tenAgain]},
	} {
		if o.available && (leg.verb == "manage" || leg.verb == "provide") {
			continue
		}
		if leg.verb == "active" {
			if err := t.images(ctx, leg.nodes); err != nil {
				return err
			}
		}
		if err := t.move(ctx, leg.name, leg.nodes, leg.verb, leg.to); err != nil {
			return fmt.Errorf("%s: %w", leg.name, err)
		}
	}
	t.memory.begin("quiet")
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(tenQuiet):
		return nil
	}
}

// enrol makes the nodes, and prints how long each request took. Nodes of clients that know no version from 1.11 on are available at once.
func (t *tenRun) enrol(ctx context.Context, count int, available bool) error {
	version := "latest"
	if available {
		version = "1.10"
	}
	t.memory.begin("enrol")
	var mu sync.Mutex
	var took []time.Duration
	began, before := time.Now(), usage(t.Stack)
	err := stack.Each(make([]struct{}, count), tenAtOnce, func(struct{}) error {
		asked := time.Now()
		a, err := stack.Request(ctx, http.MethodPost, t.APIURL+"/v1/nodes", map[string]any{"driver": "fake-hardware"},
			http.Header{"X-OpenStack-Ironic-API-Version": {version}})
		if err == nil && a.Status != http.StatusCreated {
			err = fmt.Errorf("a node was not made: %d %s", a.Status, a.Words())
		}
		mu.Lock()
		took = append(took, time.Since(asked))
		mu.Unlock()
		return err
	})
	if err != nil {
		return err
	}
	t.print("enrol", time.Since(began), count, fmt.Sprintf("a request p50 %s, p95 %s", brief(quantile(took, 0.5)), brief(quantile(took, 0.95))), before)
	return nil
}

func (t *tenRun) images(ctx context.Context, nodes []stack.Node) error {
	patch := []map[string]any{{"op": "replace", "path": "/instance_info", "value": image}}
	return stack.Each(nodes, tenAtOnce, func(n stack.Node) error { return t.Call(ctx, http.MethodPatch, "/v1/nodes/"+n.UUID, patch, nil) })
}

// move sends a verb to all of the nodes and waits until they are in a state.
func (t *tenRun) move(ctx context.Context, leg string, nodes []stack.Node, verb, to string) error {
	t.memory.begin(leg)
	var last int64
	if err := t.db.QueryRow(ctx, "SELECT coalesce(max(id), 0) FROM operations").Scan(&last); err != nil {
		return err
	}
	uuids := make([]string, len(nodes))
	for i, n := range nodes {
		uuids[i] = n.UUID
	}
	began, before := time.Now(), usage(t.Stack)
	if err := stack.Each(nodes, tenAtOnce, func(n stack.Node) error { return t.Provision(ctx, n.UUID, verb) }); err != nil {
		return err
	}
	asked := time.Since(began)
	late := t.await(ctx, uuids, to)
	if late != nil && !errors.Is(late, errLate) {
		return late
	}
	took := time.Since(began)
	words, err := t.times(ctx, last)
	if err != nil {
		return err
	}
	t.print(leg, took, len(nodes), fmt.Sprintf("all requested after %s; %s", brief(asked), words), before)
	if late != nil {
		fmt.Printf("  %s: %v\n", leg, late)
	}
	return late
}

// await waits until all of the nodes are in a state and nothing holds them.
func (t *tenRun) await(ctx context.Context, uuids []string, to string) error {
	for {
		var there, failed int
		err := t.db.QueryRow(ctx, `SELECT count(*) FILTER (WHERE provision_state = $2 AND NOT EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)),
			count(*) FILTER (WHERE provision_state IN ('error', 'clean failed', 'deploy failed')) FROM nodes n WHERE uuid = ANY($1::uuid[])`, uuids, to).Scan(&there, &failed)
		switch {
		case err != nil:
			return err
		case failed > 0:
			return fmt.Errorf("%d nodes have failed", failed)
		case there == len(uuids):
			return nil
		case time.Now().After(t.until):
			return fmt.Errorf("%d of %d nodes are %s: %w", there, len(uuids), to, errLate)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tenPoll):
		}
	}
}

// times says how long the nodes took with the operations after one, from the first request and from its beginning to the last end.
func (t *tenRun) times(ctx context.Context, after int64) (string, error) {
	var fromRequest, fromBegin [2]float64
	var operations, nodes, failed int
	err := t.db.QueryRow(ctx, `WITH n AS (
			SELECT count(*) AS operations, count(*) FILTER (WHERE outcome <> 'succeeded') AS failed,
				extract(epoch FROM max(ended_at) - min(accepted_at)) AS requested, extract(epoch FROM max(ended_at) - min(begun_at)) AS begun
			  FROM operations WHERE id > $1 AND ended_at IS NOT NULL GROUP BY node_id)
		SELECT sum(operations), count(*), sum(failed),
			percentile_cont(0.5) WITHIN GROUP (ORDER BY requested), percentile_cont(0.95) WITHIN GROUP (ORDER BY requested),
			percentile_cont(0.5) WITHIN GROUP (ORDER BY begun), percentile_cont(0.95) WITHIN GROUP (ORDER BY begun)
		  FROM n`, after).Scan(&operations, &nodes, &failed, &fromRequest[0], &fromRequest[1], &fromBegin[0], &fromBegin[1])
	return fmt.Sprintf("%d operations, %d failed; a node from its request p50 %.1f s, p95 %.1f s, from its beginning p50 %.1f s, p95 %.1f s",
		operations, failed, fromRequest[0], fromRequest[1], fromBegin[0], fromBegin[1]), err
}

func (t *tenRun) print(leg string, took time.Duration, count int, words string, before map[string]time.Duration) {
	fmt.Printf("  %-11s %5d nodes in %5.1f min: %5.0f a minute; %s; %s\n", leg, count, took.Minutes(), float64(count)/took.Minutes(), words,
		perDeploy(before, usage(t.Stack), count))
}

func brief(d time.Duration) string { return fmt.Sprintf("%.3g s", d.Seconds()) }
