package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// maxOutages is how many outages Outages returns, the latest ones.
const maxOutages = 50

const outagesSQL = `
SELECT x.part, x.from_at, x.until_at FROM (
	SELECT x.part, x.from_at, x.until_at FROM operations o CROSS JOIN LATERAL outages_since(o.accepted_at, @timeout) x
	 WHERE o.id = @id AND x.from_at < coalesce(o.ended_at, 'infinity')
	 ORDER BY x.from_at DESC LIMIT @limit) AS x
 ORDER BY x.from_at`

// Outages returns the outages of parts of Temper during an operation, oldest first: at most the latest 50.
func (s *Store) Outages(ctx context.Context, operation int64) ([]node.Outage, error) {
	a := args{"id": operation, "timeout": micros(s.conductorTimeout), "limit": maxOutages}
	return list(ctx, s, "list the outages during an operation", outagesSQL, a, func(r pgx.Row) (o node.Outage, err error) {
		return o, r.Scan(&o.Part, &o.From, &o.Until)
	})
}
