package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/events"
)

// Statements that change rows write the events of that (telling). addEventSQL writes those about anything else.
const (
	addEventSQL = `INSERT INTO events (type, data) VALUES (@type, @data)`

	// A range of numbers, so that the time it takes is bounded whatever the filter wants. The index of the primary key is in this order.
	eventsSQL = `
SELECT e.seq, e.at, e.type, coalesce(e.node_uuid::text, ''), e.node_name, coalesce(e.operation_id, 0), e.kind, e.cause, e.data, coalesce(e.owner, ''), coalesce(e.lessee, '')
  FROM events e
 WHERE e.seq > @after AND e.seq <= @through AND e.type <> ''
   AND (@node = '' OR e.node_uuid = nullif(@node, '')::uuid)
   AND (@kinds::text[] = '{}' OR e.kind = ANY (@kinds))
   AND (@operations::bigint[] = '{}' OR e.operation_id = ANY (@operations))
   AND (@causes::text[] = '{}' OR e.cause = ANY (@causes))
   AND (@all OR e.owner = ANY (@view_owners) OR e.lessee = ANY (@view_lessees))
   AND (@types::text[] = '{}' OR EXISTS (SELECT FROM unnest(@types::text[]) t WHERE e.type = t OR starts_with(e.type, t || '.')))
 ORDER BY e.seq LIMIT @limit`

	deletedEventsSQL = `SELECT f.deleted_through FROM event_feed f`

	// The next three are asked in this order, with a snapshot each, and events are read after them: what has a number at the first
	// is in a transaction that the second shows, or that has ended. A writer takes the lock of the table before its first number.
	// A row that is rolled back to a savepoint gives its lock back, and has no event.
	writtenEventsSQL = `SELECT coalesce(pg_sequence_last_value('events_seq_seq'), 0)`
	eventWritersSQL  = `
SELECT DISTINCT l.virtualtransaction FROM pg_locks l
 WHERE l.locktype = 'relation' AND l.relation = 'events'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted
   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())`

	// followEventsSQL has writers notify. It writes seldom, whatever the number of those who follow.
	followEventsSQL = `
UPDATE event_feed SET followed_until = clock_timestamp() + @lease * interval '1 microsecond'
 WHERE followed_until IS NULL OR followed_until NOT BETWEEN clock_timestamp() + @lease * interval '1 microsecond' / 2 AND clock_timestamp() + @lease * interval '1 microsecond'`
)

// followLease is how long writers notify after the latest look of somebody who follows.
const followLease = time.Minute

func scanEvents(r pgx.Row) (e events.Event, err error) {
	return e, r.Scan(&e.Seq, &e.At, &e.Type, &e.NodeUUID, &e.NodeName, &e.Operation, &e.Kind, &e.Cause, &e.Data, &e.Owners.Owner, &e.Owners.Lessee)
}

// batcher is a pool or a connection.
type batcher interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

func readEvents(ctx context.Context, db batcher, q events.Query) (found []events.Event, deleted int64, err error) {
	b := &pgx.Batch{}
	b.Queue(eventsSQL, eventArgs(q)).Query(collect(&found, scanEvents))
	b.Queue(deletedEventsSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&deleted) }) // after the events, so that it shows what they lack
	err = db.SendBatch(ctx, b).Close()
	found = slices.DeleteFunc(found, func(e events.Event) bool { return e.Seq <= deleted }) // a history or a timeline keeps it, streams do not
	return found, deleted, mapError("read events", err)
}

func eventArgs(q events.Query) args {
	return withView(args{
		"after": q.After, "through": q.Through, "node": q.Filter.NodeUUID, "kinds": orNone(q.Filter.Kinds),
		"operations": orNone(q.Filter.Operations), "causes": orNone(q.Filter.Causes), "types": orNone(q.Filter.Types), "limit": q.Limit,
	}, q.Filter.Only)
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// AddEvent writes an event about something that is not in this database: its type and data.
func (s *Store) AddEvent(ctx context.Context, e events.Event) error {
	_, err := s.exec(ctx, "write an event", addEventSQL, args{"type": e.Type, "data": e.Data})
	return err
}

// Events returns settled events, and up to which number events may have been deleted.
func (s *Store) Events(ctx context.Context, q events.Query) ([]events.Event, int64, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	return readEvents(ctx, s.pool, q)
}

// FollowEvents returns a feed that hears of new events.
func (s *Store) FollowEvents(ctx context.Context) (events.Feed, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	line, err := s.listener.listen(ctx)
	if err != nil {
		return nil, err
	}
	f := &eventFeed{store: s, line: line}
	f.heard, f.stop = line.toEvents()
	return f, nil
}

// eventFeed follows events.
type eventFeed struct {
	store  *Store
	line   *line
	heard  chan struct{}
	stop   func()
	leased time.Time
}

// Look tells what is written, and by whom.
func (f *eventFeed) Look(ctx context.Context) (l events.Look, err error) {
	if time.Since(f.leased) > followLease/4 {
		if _, err := f.store.exec(ctx, "follow events", followEventsSQL, args{"lease": micros(followLease)}); err != nil {
			return l, err
		}
		f.leased = time.Now()
	}
	b := &pgx.Batch{}
	b.Queue(writtenEventsSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&l.Written) })
	b.Queue(eventWritersSQL).Query(collect(&l.Writers, func(r pgx.Row) (w string, err error) { return w, r.Scan(&w) }))
	b.Queue(deletedEventsSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&l.Deleted) })
	return l, mapError("follow events", f.store.pool.SendBatch(ctx, b).Close())
}

// Events is Store.Events.
func (f *eventFeed) Events(ctx context.Context, q events.Query) ([]events.Event, int64, error) {
	return f.store.Events(ctx, q)
}

// Wait returns when new events were announced.
func (f *eventFeed) Wait(ctx context.Context) error {
	select {
	case <-f.heard:
		return nil
	case <-f.line.over:
		return f.line.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the feed.
func (f *eventFeed) Close() {
	f.stop()
	f.store.listener.leave(f.line)
}
