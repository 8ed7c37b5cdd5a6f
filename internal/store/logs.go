package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

const (
	// Both statements see the rows from before, so that there is room for the new one.
	saveLogSQL = `
WITH n AS (SELECT id FROM nodes WHERE uuid = @uuid),
     old AS (DELETE FROM node_logs l USING (
         SELECT o.id FROM node_logs o JOIN n ON o.node_id = n.id WHERE o.kind = @kind ORDER BY o.id DESC OFFSET @kept - 1
     ) o WHERE l.id = o.id)
INSERT INTO node_logs (node_id, operation_id, kind, step, conductor, at, content)
SELECT id, @operation, @kind, @step, @conductor, clock_timestamp(), @content FROM n
RETURNING id`

	updateLogSQL = `UPDATE node_logs SET content = @content WHERE id = @id`

	isRecordedSQL = `
SELECT EXISTS (SELECT FROM nodes WHERE uuid = @node AND NOT console_enabled)
   AND EXISTS (SELECT FROM operations WHERE id = @operation AND phase <> 'ended')`

	logsSQL = `
SELECT id, operation_id, kind, step, conductor, at, content FROM node_logs WHERE node_id = @node ORDER BY id DESC LIMIT @limit`
)

// SaveLog keeps a log of the node, and drops the oldest of its kind beyond node.LogsKept. That the node is gone is no error: id is 0 then.
func (s *Store) SaveLog(ctx context.Context, nodeUUID string, l node.Log) (id int64, err error) {
	ids, err := list(ctx, s, "keep a log of node "+nodeUUID, saveLogSQL, args{
		"uuid": nodeUUID, "operation": l.Operation, "kind": l.Kind, "step": l.Step, "conductor": l.Conductor, "content": l.Content, "kept": node.LogsKept,
	}, func(r pgx.Row) (id int64, err error) { return id, r.Scan(&id) })
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

// UpdateLog replaces what a log says. That it was dropped is no error.
func (s *Store) UpdateLog(ctx context.Context, id int64, content string) error {
	_, err := s.exec(ctx, "keep more of a log", updateLogSQL, args{"id": id, "content": content})
	return err
}

// IsRecorded reports whether the serial console of a node is recorded for an operation: that goes on, and nobody has enabled the console.
func (s *Store) IsRecorded(ctx context.Context, nodeUUID string, operation int64) (is bool, err error) {
	found, err := list(ctx, s, "look whether a console is recorded", isRecordedSQL, args{"node": nodeUUID, "operation": operation},
		func(r pgx.Row) (is bool, err error) { return is, r.Scan(&is) })
	return err == nil && found[0], err
}

// Logs returns the logs of the node with that id, the newest first.
func (s *Store) Logs(ctx context.Context, nodeID int64) ([]node.Log, error) {
	return list(ctx, s, "read the logs of a node", logsSQL, args{"node": nodeID, "limit": node.LogsKept * node.LogKinds}, func(r pgx.Row) (l node.Log, err error) {
		err = r.Scan(&l.ID, &l.Operation, &l.Kind, &l.Step, &l.Conductor, &l.At, &l.Content)
		return l, err
	})
}
