package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// The trigger operation_told writes the entries, so that no statement that changes an operation
// can forget one.
const timelineSQL = `
SELECT t.seq, t.at, t.what, t.step, t.conductor, t.former, t.since, t.by_user, t.words
  FROM operation_timeline t WHERE t.operation_id = @id ORDER BY t.seq`

// newsOf makes the words of news storable.
func newsOf(news []node.News) []node.News {
	out := make([]node.News, len(news))
	for i, n := range news {
		n.Words = words(mask.URLs(n.Words), node.MaxNews)
		out[i] = n
	}
	return out
}

func scanEntry(r pgx.Row) (e node.TimelineEntry, err error) {
	return e, r.Scan(entryPlaces(&e)...)
}

// entryPlaces are where the columns of an entry go.
func entryPlaces(e *node.TimelineEntry) []any {
	return []any{&e.Seq, &e.At, &e.What, &e.Step, &e.Conductor, &e.Former, &e.Since, &e.By, &e.Words}
}

// Timeline returns what happened to an operation, oldest first: at most 200 entries. If some
// from the middle are missing, the numbers of the others show how many.
func (s *Store) Timeline(ctx context.Context, id int64) ([]node.TimelineEntry, error) {
	return list(ctx, s, "read an operation's timeline", timelineSQL, args{"id": id}, scanEntry)
}
