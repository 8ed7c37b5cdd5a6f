package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// HistoryKept is how many events a node keeps.
const HistoryKept = 300

// addHistorySQL numbers the event by the highest number of the node's events plus one. The node's row
// has to be locked, so that no two events get the same number.
const addHistorySQL = `
WITH last AS (SELECT coalesce(max(h.seq), 0) AS seq FROM node_history h WHERE h.node_id = @node),
gone AS (DELETE FROM node_history h USING last WHERE h.node_id = @node AND h.seq <= last.seq + 1 - @kept)
INSERT INTO node_history (uuid, node_id, seq, event, event_type, severity, conductor, username, operation_id, created_at)
SELECT coalesce(@uuid::uuid, gen_random_uuid()), @node, last.seq + 1, @event, @type, @severity, @conductor, @user, nullif(@operation, 0), coalesce(@at::timestamptz, clock_timestamp()) FROM last`

func queueHistory(b *pgx.Batch, nodeID int64, e node.HistoryEvent) {
	event := e.Event
	if e.Severity == "ERROR" || e.EventType == node.HistoryError { // URLs in what people have written are kept as they are
		event = mask.URLs(event)
	}
	var at *time.Time
	if !e.CreatedAt.IsZero() {
		at = &e.CreatedAt
	}
	var uuid *string
	if e.UUID != "" {
		uuid = &e.UUID
	}
	b.Queue(addHistorySQL, args{
		"uuid": uuid,
		"at":   at,
		"node": nodeID, "kept": HistoryKept, "event": words(event, maxEvent), "type": e.EventType, "severity": severity(e),
		"conductor": e.Conductor, "user": words(e.User, 255), "operation": e.Operation,
	})
}

// severity is the severity of an event; INFO is that of events that say none.
func severity(e node.HistoryEvent) string { return cmp.Or(e.Severity, "INFO") }

// eventPlaces are where the first eight columns of statements about events go.
func eventPlaces(e *node.HistoryEvent) []any {
	return []any{&e.UUID, &e.CreatedAt, &e.Event, &e.EventType, &e.Severity, &e.Conductor, &e.User, &e.Operation}
}

func scanEvent(r pgx.Row) (e node.HistoryEvent, err error) {
	return e, r.Scan(append(eventPlaces(&e), &e.NodeUUID)...)
}

const (
	historySQL = `
SELECT h.uuid::text, h.created_at, h.event, h.event_type, h.severity, h.conductor, h.username, coalesce(h.operation_id, 0), n.uuid::text
  FROM node_history h JOIN nodes n ON n.id = h.node_id
 WHERE h.node_id = @node AND (@marker::uuid IS NULL OR h.seq > (SELECT m.seq FROM node_history m WHERE m.node_id = @node AND m.uuid = @marker::uuid))
 ORDER BY h.seq LIMIT @limit`

	historyNewestFirstSQL = `
SELECT h.uuid::text, h.created_at, h.event, h.event_type, h.severity, h.conductor, h.username, coalesce(h.operation_id, 0), n.uuid::text
  FROM node_history h JOIN nodes n ON n.id = h.node_id
 WHERE h.node_id = @node AND (@marker::uuid IS NULL OR h.seq < (SELECT m.seq FROM node_history m WHERE m.node_id = @node AND m.uuid = @marker::uuid))
 ORDER BY h.seq DESC LIMIT @limit`

	eventSQL = `
SELECT h.uuid::text, h.created_at, h.event, h.event_type, h.severity, h.conductor, h.username, coalesce(h.operation_id, 0), n.uuid::text
  FROM node_history h JOIN nodes n ON n.id = h.node_id
 WHERE h.node_id = @node AND h.uuid = @uuid`
)

// History is a page of the node's events, oldest first unless SortDir is desc.
// The marker is the uuid of an event; other sort keys than created_at are refused.
func (s *Store) History(ctx context.Context, ident string, p node.Page) ([]node.HistoryEvent, error) {
	id, uuid, err := s.nodeID(ctx, ident)
	if err != nil {
		return nil, err
	}
	sql := historySQL
	if p.SortDir == "desc" {
		sql = historyNewestFirstSQL
	}
	switch p.SortKey {
	case "", "id", "created_at":
	default:
		return nil, fault.New(fault.Invalid, "The sort_key value %q is an invalid field for sorting", words(p.SortKey, 64))
	}
	limit := pageLimit(p.Limit)
	if p.Marker != "" && !node.IsHyphenatedUUID(p.Marker) {
		return nil, fault.New(fault.Invalid, "Expected a UUID but received %s.", words(p.Marker, 64))
	}
	stored := func(marker string, limit int) ([]node.HistoryEvent, error) {
		a := args{"node": id, "limit": limit, "marker": nil}
		if marker != "" {
			a["marker"] = marker
		}
		return list(ctx, s, "list history of node "+words(ident, 64), sql, a, scanEvent)
	}
	if p.SortDir != "desc" {
		events, err := stored(p.Marker, limit)
		if err != nil {
			return nil, err
		}
		return s.appendLive(ctx, events, uuid, p.Marker, limit)
	}
	page, rest, err := s.newestLive(ctx, uuid, p.Marker, limit)
	if err != nil || len(page) == limit {
		return page, err
	}
	older, err := stored(rest, limit-len(page))
	for _, e := range older {
		if _, among := after(page, e.UUID); !among { // the operation has ended in between
			page = append(page, e)
		}
	}
	return page, err
}

// HistoryEvent is one event of the node.
func (s *Store) HistoryEvent(ctx context.Context, ident, uuid string) (*node.HistoryEvent, error) {
	e, missing := s.storedEvent(ctx, ident, uuid)
	if !fault.Is(missing, fault.NotFound) {
		return e, missing
	}
	_, of, err := s.nodeID(ctx, ident)
	if err != nil {
		return nil, err
	}
	live, err := s.liveHistory(ctx, of)
	if i := slices.IndexFunc(live, func(e node.HistoryEvent) bool { return e.UUID == uuid }); i >= 0 {
		return &live[i], nil
	}
	return nil, cmp.Or(err, missing)
}

// storedEvent is an event of the node, but not of its open operation.
func (s *Store) storedEvent(ctx context.Context, ident, uuid string) (*node.HistoryEvent, error) {
	id, _, err := s.nodeID(ctx, ident)
	if err != nil {
		return nil, err
	}
	missing := fault.New(fault.NotFound, "Node history record %s could not be found.", words(uuid, 64))
	if !node.IsHyphenatedUUID(uuid) {
		return nil, missing
	}
	var e node.HistoryEvent
	found, err := s.one(ctx, "read a history event", eventSQL, args{"node": id, "uuid": uuid}, func(r pgx.Row) (err error) {
		e, err = scanEvent(r)
		return err
	})
	if err == nil && !found {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	return &e, nil
}

const (
	nodeIDByUUIDSQL = `SELECT n.id, n.uuid::text FROM nodes n WHERE n.uuid = @ident`
	nodeIDByNameSQL = `SELECT n.id, n.uuid::text FROM nodes n WHERE n.name = @ident`
)

// nodeID is the row number and uuid of the node of that uuid or name.
func (s *Store) nodeID(ctx context.Context, ident string) (id int64, uuid string, err error) {
	found, err := s.one(ctx, "find node "+words(ident, 64), byIdent(ident, nodeIDByUUIDSQL, nodeIDByNameSQL), args{"ident": ident}, func(r pgx.Row) error {
		return r.Scan(&id, &uuid)
	})
	if err == nil && !found {
		err = node.NotFound(ident)
	}
	return id, uuid, err
}
