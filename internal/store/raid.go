package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

var raidConfigSQL = telling{
	eventType: ofType("baremetal.node.update.end"), of: ofThatNode, data: "'changed', ARRAY['raid_config']",
}.with(`
UPDATE nodes SET raid_config = @config, updated_at = clock_timestamp()
 WHERE id = @id RETURNING id, uuid, name, owner, lessee`) + ` SELECT FROM r`

// SaveRAID writes a node's raid_config, under a claim.
func (s *Store) SaveRAID(ctx context.Context, id int64, c node.Claim, config map[string]any) error {
	return s.inClaim(ctx, "save a RAID configuration", id, c, func(f *fenced, b *pgx.Batch) error {
		var d dicts
		b.Queue(raidConfigSQL, args{"id": f.ID, "config": d.dict(config)})
		return d.err
	})
}
