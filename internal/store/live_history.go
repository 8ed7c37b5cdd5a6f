package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The history of a node contains what happened during an operation from the first moment on. Until the operation ends, that is
// read from its timeline; the transaction that ends it writes the same events, with the same uuids, into the history.

// The timeline of the open operation of a node.
const (
	openTimelineSQL = `
SELECT o.id, t.seq, t.at, t.what, t.step, t.conductor, t.former, t.since, t.by_user, t.words
  FROM nodes n JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL JOIN operation_timeline t ON t.operation_id = o.id`
	openTimelineByUUIDSQL = openTimelineSQL + ` WHERE n.uuid = @ident ORDER BY t.seq`
	openTimelineByNameSQL = openTimelineSQL + ` WHERE n.name = @ident ORDER BY t.seq`
)

// openTimeline is the timeline of an open operation while it is read.
type openTimeline struct {
	operation int64
	entries   []node.TimelineEntry
}

func (o *openTimeline) scan(r pgx.Row) (e node.TimelineEntry, err error) {
	return e, r.Scan(append([]any{&o.operation}, entryPlaces(&e)...)...)
}

// queue reads the timeline of the node's open operation, if there is one.
func (o *openTimeline) queue(b *pgx.Batch, ident string) {
	b.Queue(byIdent(ident, openTimelineByUUIDSQL, openTimelineByNameSQL), args{"ident": ident}).Query(collect(&o.entries, o.scan))
}

// liveHistory returns the events of the node's open operation, oldest first.
func (s *Store) liveHistory(ctx context.Context, uuid string) ([]node.HistoryEvent, error) {
	var o openTimeline
	entries, err := list(ctx, s, "read the timeline of a node's open operation", openTimelineByUUIDSQL, args{"ident": uuid}, o.scan)
	events := node.TimelineHistory(o.operation, entries)
	for i := range events {
		events[i].NodeUUID, events[i].Severity = uuid, severity(events[i])
	}
	return events, err
}

// appendLive appends the events of the node's open operation to a page of those that are stored, oldest first.
func (s *Store) appendLive(ctx context.Context, stored []node.HistoryEvent, uuid, marker string, limit int) ([]node.HistoryEvent, error) {
	if len(stored) == limit {
		return stored, nil
	}
	live, err := s.liveHistory(ctx, uuid)
	if err != nil || len(live) == 0 {
		return stored, err
	}
	live, among := after(live, marker)
	if marker != "" && !among && len(stored) == 0 { // the last one that is stored, or one that is not there any more
		_, err := s.storedEvent(ctx, uuid, marker)
		if fault.Is(err, fault.NotFound) {
			return stored, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return append(stored, live[:min(len(live), limit-len(stored))]...), nil
}

// newestLive returns the first page of the events of the node's open operation, newest first, that come after the marker, and
// the marker for those that are stored.
func (s *Store) newestLive(ctx context.Context, uuid, marker string, limit int) (page []node.HistoryEvent, rest string, err error) {
	live, err := s.liveHistory(ctx, uuid)
	if err != nil {
		return nil, "", err
	}
	slices.Reverse(live)
	live, among := after(live, marker)
	if marker != "" && !among {
		return nil, marker, nil
	}
	return live[:min(len(live), limit)], "", nil
}

// after returns the events after the one with the uuid marker, and whether that is one of them. Otherwise it returns all.
func after(events []node.HistoryEvent, marker string) ([]node.HistoryEvent, bool) {
	i := slices.IndexFunc(events, func(e node.HistoryEvent) bool { return e.UUID == marker })
	return events[i+1:], i >= 0
}
