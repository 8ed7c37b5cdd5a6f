package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// openUndosSQL: the pause after the nth try is 15 s doubled n times, at most ten
// minutes. A node that somebody else holds right now is left for the next time.
const openUndosSQL = `
WITH due AS MATERIALIZED (
	SELECT n.id FROM nodes n
	 WHERE n.owed <> '[]' AND (NOT n.maintenance OR n.maintenance_by_fault)
	   AND (n.owed_tried_at IS NULL OR n.owed_tried_at < clock_timestamp() - least(600, 15 * 2 ^ least(n.owed_tries, 10)) * interval '1 second')
	   AND NOT EXISTS (SELECT FROM operations x WHERE x.node_id = n.id AND x.ended_at IS NULL)
	   AND EXISTS (SELECT FROM conductors c CROSS JOIN witness w
		WHERE c.conductor_group = n.conductor_group AND NOT c.draining AND c.interfaces ? n.driver AND ` + aliveSQL + `
		  AND NOT EXISTS (SELECT FROM jsonb_each_text(n.interfaces) AS i (interface, implementation)
			WHERE NOT coalesce(c.interfaces -> n.driver -> i.interface, '[]') ? i.implementation))
	 ORDER BY n.id LIMIT @limit FOR NO KEY UPDATE OF n SKIP LOCKED),
opened AS (
	INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, requested_by, origin, conductor_group, driver, steps)
	SELECT n.id, n.uuid, coalesce(n.name, ''), 'undo', 'accepted', @by, n.provision_state, n.conductor_group, n.driver, @steps
	  FROM due JOIN nodes n ON n.id = due.id
	ON CONFLICT (node_id) WHERE ended_at IS NULL DO NOTHING
	RETURNING *),
tried AS (
	UPDATE nodes n SET owed_tried_at = clock_timestamp(), owed_tries = n.owed_tries + 1 FROM opened WHERE n.id = opened.node_id),
told AS (
	INSERT INTO node_history (node_id, seq, event, event_type, username, operation_id)
	SELECT opened.node_id, 1 + (SELECT coalesce(max(h.seq), 0) FROM node_history h WHERE h.node_id = opened.node_id),
		'undo accepted', @type, @by, opened.id
	  FROM opened)
SELECT ` + operationColumns + ` FROM opened o ORDER BY o.id`

// OpenUndos opens an operation of kind undo, with these steps, on nodes that owe
// something, are free, not in a person's maintenance, covered by a live conductor, and whose
// last try is long enough ago; at most limit of them.
func (s *Store) OpenUndos(ctx context.Context, steps []node.Step, by string, limit int) ([]node.Operation, error) {
	var d dicts
	a := args{
		"steps": d.steps(steps), "by": by, "type": eventAccepted, "limit": pageLimit(limit), "timeout": micros(s.conductorTimeout),
	}
	if d.err != nil {
		return nil, d.err
	}
	return list(ctx, s, "open undos", openUndosSQL, a, func(r pgx.Row) (node.Operation, error) { return scanOperation(r) })
}
