package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// coveringSQL: a live conductor could work on node n for its operation o.
const coveringSQL = `EXISTS (
	SELECT FROM conductors c CROSS JOIN witness w
	 WHERE c.conductor_group = o.conductor_group AND NOT c.draining AND c.interfaces ? o.driver AND ` + aliveSQL + `
	   AND NOT EXISTS (SELECT FROM jsonb_each_text(n.interfaces) AS i (interface, implementation)
		WHERE NOT coalesce(c.interfaces -> o.driver -> i.interface, '[]') ? i.implementation))`

const watchSQL = `
SELECT ` + nodeColumns + `, ` + coveringSQL + `,
	c.id IS NOT NULL, coalesce(` + aliveSQL + `, false), coalesce(c.draining, false),
	o.orphaned, CASE WHEN c.stopped_at IS NULL THEN 0 ELSE greatest(1, extract(epoch FROM clock_timestamp() - c.stopped_at) * 1000000) END::bigint
  FROM operations o JOIN nodes n ON n.id = o.node_id LEFT JOIN agents a ON a.node_id = n.id
  LEFT JOIN conductors c ON c.hostname = o.conductor CROSS JOIN witness w
 WHERE o.id = @id`

// Watch is the operation's node, with the operation whether it is open or not,
// and who could work on it. fault.Lost where the node is gone.
func (s *Store) Watch(ctx context.Context, id int64) (*node.Node, node.Cover, error) {
	var n node.Node
	var c node.Cover
	found, err := s.one(ctx, "watch an operation", watchSQL, args{"id": id, "timeout": micros(s.conductorTimeout)}, func(r pgx.Row) (err error) {
		var stopped int64
		n, err = scanNode(withMore{r, []any{&c.Covered, &c.Last.Known, &c.Last.Alive, &c.Last.Draining, &c.Last.Died, &stopped}})
		c.Last.StoppedFor = time.Duration(stopped) * time.Microsecond
		return err
	})
	if err == nil && !found {
		err = fault.New(fault.Lost, "operation %d has lost its node", id)
	}
	if err != nil {
		return nil, c, err
	}
	return &n, c, nil
}

// withMore is a row that has columns after those its reader knows.
type withMore struct {
	pgx.Row
	more []any
}

func (w withMore) Scan(into ...any) error { return w.Row.Scan(append(into, w.more...)...) }

// stallSetSQL stalls or, with @stall = ”, lets go on; the same stall again
// changes nothing. What was waited for is kept meanwhile, with the time left.
const stallSetSQL = `
	kept_for = CASE WHEN o.stalled = @stall THEN o.kept_for WHEN @stall = '' THEN ''
		WHEN o.stalled <> '' THEN o.kept_for WHEN o.phase = 'waiting' THEN o.waiting_for ELSE '' END,
	kept_left = CASE WHEN o.stalled = @stall THEN o.kept_left WHEN @stall = '' THEN NULL
		WHEN o.stalled <> '' THEN o.kept_left WHEN o.phase = 'waiting' THEN o.waiting_until - clock_timestamp() END,
	waiting_for = CASE WHEN o.stalled = @stall THEN o.waiting_for WHEN @stall = '' THEN o.kept_for ELSE @words END,
	waiting_until = CASE WHEN o.stalled = @stall THEN o.waiting_until WHEN @stall = '' THEN clock_timestamp() + o.kept_left
		ELSE clock_timestamp() + @within * interval '1 microsecond' END,
	phase = CASE WHEN o.stalled = @stall THEN o.phase WHEN @stall = '' AND o.kept_for = '' THEN 'running' ELSE 'waiting' END,
	stalled_at = CASE WHEN @stall = '' THEN NULL ELSE coalesce(o.stalled_at, clock_timestamp()) END,
	stalled = @stall`

const stallSQL = `
UPDATE operations o SET ` + stallSetSQL + `,
	claim_attempt = CASE WHEN o.claim_seq < @seq THEN 0 ELSE o.claim_attempt END, claim_seq = greatest(o.claim_seq, @seq)
 WHERE o.id = @id AND o.run_id = @run AND o.ended_at IS NULL
RETURNING ` + operationColumns

// Stall notes, for the workflow that is the run, that the operation can't go on,
// or ("") that it can again. It waits so for within, nil = without end. seq takes
// the claim, so that no earlier step can write any more; 0 = leaves it.
// fault.Lost when the run is another one or the operation has ended.
func (s *Store) Stall(ctx context.Context, id int64, runID string, seq int64, stall node.Stall, waitingFor string, within *time.Duration) (*node.Operation, error) {
	var o node.Operation
	a := stallArgs(stall, waitingFor, within)
	a["id"], a["run"], a["seq"] = id, runID, seq
	found, err := s.one(ctx, "stall an operation", stallSQL, a, func(r pgx.Row) (err error) {
		o, err = scanOperation(r)
		return err
	})
	if err == nil && !found {
		err = fault.New(fault.Lost, "operation %d has ended or is another run's", id)
	}
	if err != nil {
		return nil, err
	}
	return &o, nil
}

func stallArgs(stall node.Stall, waitingFor string, within *time.Duration) args {
	a := args{"stall": stall, "words": words(waitingFor, maxError), "within": nil}
	if within != nil {
		a["within"] = micros(*within)
	}
	return a
}

const goOnSQL = `
UPDATE operations SET phase = 'running', waiting_for = '', waiting_until = NULL,
	stalled = '', stalled_at = NULL, kept_for = '', kept_left = NULL
 WHERE id = @id AND run_id = @run AND ended_at IS NULL AND phase = 'waiting'`

// GoOn notes that what the operation waited for has come.
func (s *Store) GoOn(ctx context.Context, id int64, runID string) error {
	_, err := s.exec(ctx, "let an operation go on", goOnSQL, args{"id": id, "run": runID})
	return err
}

// Power is what an operator does to a node in maintenance: it is not paused.
const (
	pauseSQL = `
UPDATE operations o SET paused = true
 WHERE o.node_id = @node AND o.ended_at IS NULL AND NOT o.in_maintenance AND o.kind <> 'power'`

	stallPausedSQL = `
UPDATE operations o SET ` + stallSetSQL + `
 WHERE o.node_id = @node AND o.ended_at IS NULL AND o.paused AND o.phase = 'waiting'`

	unpauseSQL = `UPDATE operations o SET paused = false, orphaned = false WHERE o.node_id = @node AND o.ended_at IS NULL AND o.paused`
)

// queuePause pauses the node's open operation with its maintenance, or lets it
// go on: its workflow sees that, and until then its clock stands still.
func queuePause(b *pgx.Batch, nodeID int64, on bool) {
	if !on {
		b.Queue(unpauseSQL, args{"node": nodeID})
		return
	}
	b.Queue(pauseSQL, args{"node": nodeID})
	a := stallArgs(node.StallMaintenance, node.PausedWords, nil)
	a["node"] = nodeID
	b.Queue(stallPausedSQL, a)
}

// What a paused operation's conductor has left half done is for its workflow to
// end. One that left in good order is waited for.
const misfitsSQL = `SELECT ` + operationColumns + ` FROM operations o JOIN nodes n ON n.id = o.node_id
 WHERE o.ended_at IS NULL AND o.begun_at IS NOT NULL AND o.phase = 'waiting' AND o.asked NOT IN ('cancel', 'delete')
   AND (o.stalled <> CASE WHEN o.paused THEN 'maintenance' WHEN ` + coveringSQL + ` THEN '' ELSE 'conductor' END
	OR o.paused AND o.conductor <> ''
	   AND EXISTS (SELECT FROM jsonb_array_elements(o.steps) AS s WHERE s ? 'started_at')
	   AND (o.orphaned OR NOT EXISTS (SELECT FROM conductors c CROSS JOIN witness w
		WHERE c.hostname = o.conductor AND (c.stopped_at IS NOT NULL OR ` + aliveSQL + `))))
 ORDER BY o.id LIMIT @limit`

// Misfits are open operations whose wait is not what it should be: a conductor
// is back, or gone, maintenance was lifted, or its conductor died in it.
func (s *Store) Misfits(ctx context.Context) ([]node.Operation, error) {
	return list(ctx, s, "list operations whose wait is over", misfitsSQL,
		args{"timeout": micros(s.conductorTimeout), "limit": node.MaxLimit}, scanOperation)
}
