package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/test/stack"
)

// loadStatements has PostgreSQL load the extension that counts statements, from its next start on.
func loadStatements(ctx context.Context, s *stack.Stack) error {
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	_, err = db.Exec(ctx, "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
	return err
}

// statementsSQL are the statements that were carried out, with their planning.
const statementsSQL = `
SELECT regexp_replace(query, '\s+', ' ', 'g'), sum(calls)::float8, sum(total_plan_time)::float8, sum(total_exec_time)::float8, sum(wal_bytes - wal_fpi * 8192)::float8
  FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY 1`

// statementNames are what statements are for, by a part of their text. The first that fits counts.
var statementNames = []struct{ name, part string }{
	{"lists that the bench polls", "WITH coverage AS MATERIALIZED (SELECT * FROM coverage("},
	{"API: reads", "v.quarantined, v.held AND v.covered"},
	{"API: reads", "conductor_late(c, w,"},
	{"API: reads", "FROM deploy_templates"},
	{"API: audit", "INSERT INTO audit"},
	{"API: accept, the node's row locked", "FROM nodes n WHERE n.uuid = $1 FOR NO KEY UPDATE"},
	{"API: accept, the node's row locked", "n.power_read_at) AS power_read_at FROM nodes n LEFT JOIN operations o"},
	{"API: accept, the node's row locked", "FROM operations o WHERE o.node_id = (SELECT n.id FROM nodes"},
	{"API: accept, the operation's row", "INSERT INTO operations AS o"},
	{"begin", "SET run_id = $"},
	{"begin", "need_coverage(n.need_id"},
	{"claim", "o.run_id = $2 AND o.ended_at IS NULL FOR NO KEY UPDATE"},
	{"claim", "(SELECT c.incarnation FROM conductors c"},
	{"claim", "SET claim_seq = $"},
	{"claim: secrets", "SELECT s.name, s.seal, s.ciphertext"},
	{"BMC requests", "SELECT o.node_id, o.conductor, o.asked"},
	{"saves of steps that tell of the node, too", "WITH held AS MATERIALIZED ( SELECT n.id, n.uuid, coalesce(n.name"},
	{"saves of steps", "WITH op AS ( UPDATE operations o SET version"},
	{"end", "o.ended_at IS NULL RETURNING o.id, o.node_id"},
	{"end", "FROM operations x JOIN nodes n"},
	{"end", "JOIN operations o ON o.node_id = n.id WHERE o.id = $1 FOR NO KEY UPDATE"},
	{"end", "SELECT o.* FROM operations o WHERE o.id = $1"},
	{"end", "coalesce(o.follow_up"},
	{"end", "UPDATE operations o SET error = split_part"},
	{"end", "DELETE FROM agents"},
	{"end", "DELETE FROM secrets"},
	{"node's row, when accepted and at the end", "WITH r AS ( UPDATE nodes SET"},
	{"node's history, when accepted and at the end", "INSERT INTO events (node_id, node_uuid, node_name, owner, lessee, operation_id, text"},
	{"numbers of operations", "nextval('operations_id_seq')"},
}

func nameOf(statement string) string {
	for _, n := range statementNames {
		if strings.Contains(statement, n.part) {
			return n.name
		}
	}
	return "not of operations"
}

// updatesSQL are how many rows of each table were inserted and updated, and how many updates had to write no index.
const updatesSQL = `
SELECT relname, n_tup_ins::float8, n_tup_upd::float8, n_tup_hot_upd::float8, n_tup_del::float8
  FROM pg_stat_user_tables WHERE n_tup_ins + n_tup_upd + n_tup_del > 0 ORDER BY relname`

// updates are the changes of a table.
type updates struct {
	table                           string
	inserted, updated, hot, deleted float64
}

// statements are how often some were carried out, their milliseconds, and their bytes of WAL.
type statements struct{ calls, plan, run, wal float64 }

func (s statements) plus(o statements) statements {
	return statements{s.calls + o.calls, s.plan + o.plan, s.run + o.run, s.wal + o.wal}
}

// showStatements prints what the database does for a deploy and for a give-back.
func showStatements(ctx context.Context, s *stack.Stack) error {
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	for _, sql := range []string{"CREATE EXTENSION IF NOT EXISTS pg_stat_statements", "SET pg_stat_statements.track = 'none'", "ALTER SYSTEM SET pg_stat_statements.track_planning = on", "SELECT pg_reload_conf()"} {
		if _, err := db.Exec(ctx, sql); err != nil {
			fmt.Println("  statements are not counted: " + err.Error())
			return nil
		}
	}
	for round := range 2 { // the first warms up
		if err := setImage(s, ctx); err != nil {
			return err
		}
		for _, l := range []struct{ name, from, verb, to string }{{"deploy", "available", "active", "active"}, {"give-back", "active", "deleted", "available"}} {
			if err := showLeg(ctx, s, db, l.name, l.from, l.verb, l.to, round > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func showLeg(ctx context.Context, s *stack.Stack, db *pgx.Conn, name, from, verb, to string, show bool) error {
	before, err := updatesOf(ctx, db)
	if err != nil {
		return err
	}
	if _, err = db.Exec(ctx, "SELECT pg_stat_statements_reset()"); err != nil {
		return err
	}
	for range floorCount { // one at a time, so that no statement waits for another one
		if _, err = s.Move(ctx, 1, from, verb, to); err != nil {
			return err
		}
	}
	if !show {
		return nil
	}
	rows, err := db.Query(ctx, statementsSQL)
	if err != nil {
		return err
	}
	fmt.Printf("  statements of a %s, one at a time: ms in PostgreSQL (and planning), bytes of WAL without full pages\n", name)
	groups := map[string]statements{}
	var text string
	var one statements
	_, err = pgx.ForEachRow(rows, []any{&text, &one.calls, &one.plan, &one.run, &one.wal}, func() error {
		for _, name := range []string{nameOf(text), "all"} {
			groups[name] = groups[name].plus(one)
		}
		return nil
	})
	if err != nil {
		return err
	}
	names := slices.SortedFunc(maps.Keys(groups), func(a, b string) int { return cmp.Compare(groups[b].plan+groups[b].run, groups[a].plan+groups[a].run) })
	for _, name := range names {
		g := groups[name]
		fmt.Printf("    %-45s %6.2f calls %8.3f ms (%.3f) %8.0f bytes\n", name, g.calls/floorCount, (g.plan+g.run)/floorCount, g.plan/floorCount, g.wal/floorCount)
	}
	time.Sleep(countedWithin)
	after, err := updatesOf(ctx, db)
	if err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(after)) {
		a, b := after[table], before[table]
		inserted, updated, hot, deleted := (a.inserted-b.inserted)/floorCount, (a.updated-b.updated)/floorCount, (a.hot-b.hot)/floorCount, (a.deleted-b.deleted)/floorCount
		if inserted+updated+deleted >= 0.5 {
			fmt.Printf("    rows of %-18s %5.2f inserted, %5.2f updated, %5.2f of them without indexes, %5.2f deleted\n", table, inserted, updated, hot, deleted)
		}
	}
	return nil
}

func updatesOf(ctx context.Context, db *pgx.Conn) (map[string]updates, error) {
	time.Sleep(countedWithin)
	rows, err := db.Query(ctx, updatesSQL)
	if err != nil {
		return nil, err
	}
	out := map[string]updates{}
	var u updates
	_, err = pgx.ForEachRow(rows, []any{&u.table, &u.inserted, &u.updated, &u.hot, &u.deleted}, func() error {
		out[u.table] = u
		return nil
	})
	return out, err
}
