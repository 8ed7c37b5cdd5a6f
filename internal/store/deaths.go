package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

const aliveAgainSQL = `
SELECT d.at FROM unnest(@names::text[], @incarnations::bigint[], @ats::timestamptz[]) AS d (name, incarnation, at)
  JOIN conductors c ON c.hostname = d.name AND c.incarnation = d.incarnation
 WHERE c.heartbeat_at > d.at OR c.stopped_at > d.at`

// StillDead returns the deaths without those of conductors that have turned out to be
// alive: the process was frozen or cut off, and has sent a heartbeat since.
func (s *Store) StillDead(ctx context.Context, deaths []node.Death) ([]node.Death, error) {
	a := args{}
	var names []string
	var incarnations []int64
	var ats []time.Time
	for _, d := range deaths {
		names, incarnations, ats = append(names, d.Conductor), append(incarnations, d.Incarnation), append(ats, d.At)
	}
	a["names"], a["incarnations"], a["ats"] = names, incarnations, ats
	alive, err := list(ctx, s, "look for deaths that were none", aliveAgainSQL, a, func(r pgx.Row) (at time.Time, err error) { return at, r.Scan(&at) })
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(deaths), func(d node.Death) bool {
		return slices.ContainsFunc(alive, d.At.Equal)
	}), nil
}
