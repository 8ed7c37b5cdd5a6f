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
SELECT id, @operation, @kind, @step, @conductor, clock_timestamp(), @content FROM n`

	logsSQL = `
SELECT operation_id, kind, step, conductor, at, content FROM node_logs WHERE node_id = @node ORDER BY id DESC LIMIT @limit`
)

// SaveLog keeps a log of the node, and drops the oldest of its kind beyond node.LogsKept. That the node is gone is no error.
func (s *Store) SaveLog(ctx context.Context, nodeUUID string, l node.Log) error {
	_, err := s.exec(ctx, "keep a log of node "+nodeUUID, saveLogSQL, args{
		"uuid": nodeUUID, "operation": l.Operation, "kind": l.Kind, "step": l.Step, "conductor": l.Conductor, "content": l.Content, "kept": node.LogsKept,
	})
	return err
}

// Logs returns the logs of the node with that id, the newest first.
func (s *Store) Logs(ctx context.Context, nodeID int64) ([]node.Log, error) {
	return list(ctx, s, "read the logs of a node", logsSQL, args{"node": nodeID, "limit": node.LogsKept}, func(r pgx.Row) (l node.Log, err error) {
		err = r.Scan(&l.Operation, &l.Kind, &l.Step, &l.Conductor, &l.At, &l.Content)
		return l, err
	})
}
