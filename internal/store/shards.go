package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// maxShards bounds the list of shards. There are about as many as processes that schedule.
const maxShards = 10_000

// shardsSQL reads the index nodes_by_shard only.
const shardsSQL = `
SELECT coalesce(n.shard, 'None'), count(*) FROM nodes n GROUP BY n.shard ORDER BY count(*) DESC, n.shard LIMIT @limit`

// Shards returns the shards with their numbers of nodes, the largest first (Ironic db/sqlalchemy/api.py, get_shard_list).
func (s *Store) Shards(ctx context.Context) ([]node.Shard, error) {
	return list(ctx, s, "list shards", shardsSQL, args{"limit": maxShards}, func(r pgx.Row) (x node.Shard, err error) {
		return x, r.Scan(&x.Name, &x.Count)
	})
}
