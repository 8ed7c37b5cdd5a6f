package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// A timeline has its first entries and its latest ones.
const (
	timelineFirst  = 50
	timelineLatest = 150
)

const timelineSQL = `
SELECT e.operation_seq, e.at, e.entry
  FROM operations o JOIN events e ON e.operation_id = o.id
 WHERE o.id = @id AND e.operation_seq > 0 AND (e.operation_seq <= @first OR e.operation_seq > o.entries - @latest)
 ORDER BY e.operation_seq`

// Timeline returns what happened to an operation, oldest first: at most 200 entries. If some
// from the middle are missing, the numbers of the others show how many.
func (s *Store) Timeline(ctx context.Context, id int64) ([]node.TimelineEntry, error) {
	a := args{"id": id, "first": timelineFirst, "latest": timelineLatest}
	return list(ctx, s, "read an operation's timeline", timelineSQL, a, func(r pgx.Row) (node.TimelineEntry, error) {
		var written node.TimelineEntry
		var e node.TimelineEntry
		err := r.Scan(&written.Seq, &written.At, &e)
		if e.Seq = written.Seq; e.At.IsZero() {
			e.At = written.At
		}
		return e, err
	})
}
