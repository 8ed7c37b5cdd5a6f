package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

const (
	saveReadingSQL = `
INSERT INTO node_readings AS r (node_id, interface, data, first_at, read_at) VALUES (@node, @interface, @data, statement_timestamp(), statement_timestamp())
ON CONFLICT (node_id, interface) DO UPDATE SET data = excluded.data, read_at = excluded.read_at`

	readingSQL = `SELECT interface, data, first_at, read_at FROM node_readings WHERE node_id = @node AND interface = @interface`
)

// SaveReading keeps, under a claim, what was read through an interface of the operation's node. It replaces what was read before.
func (s *Store) SaveReading(ctx context.Context, operation int64, c node.Claim, iface string, data json.RawMessage) error {
	return s.inClaim(ctx, "keep what was read through the interface "+iface, operation, c, func(f *fenced, b *pgx.Batch) error {
		var d dicts
		b.Queue(saveReadingSQL, args{"node": f.ID, "interface": iface, "data": d.of(data)})
		return d.err
	})
}

// KeptReading returns what was read last through an interface of the node with that id; nil = nothing was.
func (s *Store) KeptReading(ctx context.Context, nodeID int64, iface string) (*node.KeptReading, error) {
	var r node.KeptReading
	found, err := s.one(ctx, "look up what was read through the interface "+iface, readingSQL, args{"node": nodeID, "interface": iface}, func(row pgx.Row) error {
		return row.Scan(&r.Interface, &r.Data, &r.FirstAt, &r.ReadAt)
	})
	if err != nil || !found {
		return nil, err
	}
	return &r, nil
}
