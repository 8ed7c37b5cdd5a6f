package store

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// addHistorySQL writes a line of a node's history that no other event tells.
const addHistorySQL = `
INSERT INTO events (` + nodeColumns + `, operation_id, text, event_type, severity, conductor, username, state, target_state, lasted)
SELECT ` + nodeValues + `, nullif(@operation::bigint, 0), @event, @type, @severity, @conductor, @user, ` + stateValues + `, @lasted FROM nodes n WHERE n.id = @node`

// stateValues are the columns state and target_state of an event of the node n, as the node's row is after the change.
const stateValues = `n.provision_state, coalesce(n.target_provision_state, '')`

func queueHistory(b *pgx.Batch, nodeID int64, e node.HistoryEvent) {
	event := e.Event
	if e.Severity == "ERROR" || e.EventType == node.HistoryError { // URLs in what people have written are kept as they are
		event = mask.URLs(event)
	}
	b.Queue(addHistorySQL, args{
		"node": nodeID, "event": words(event, maxEvent), "type": e.EventType, "severity": cmp.Or(e.Severity, "INFO"),
		"conductor": e.Conductor, "user": words(e.User, 255), "operation": e.Operation, "lasted": e.Lasted,
	})
}

// historyColumns are read by scanEvent. h is a row of events.
const historyColumns = `h.seq, h.at, h.text, h.entry, h.event_type, h.severity, h.conductor, h.username, coalesce(h.operation_id, 0), h.state, h.target_state, h.lasted`

// scanEvent scans historyColumns and, behind them, more.
func scanEvent(r pgx.Row, more ...any) (e node.HistoryEvent, err error) {
	var seq int64
	var entry *node.TimelineEntry
	err = r.Scan(append([]any{&seq, &e.CreatedAt, &e.Event, &entry, &e.EventType, &e.Severity, &e.Conductor, &e.User, &e.Operation, &e.State, &e.TargetState, &e.Lasted}, more...)...)
	if entry != nil && e.Event == "" {
		if entry.At.IsZero() {
			entry.At = e.CreatedAt
		}
		e.CreatedAt, e.Event, e.Conductor = entry.At, entry.Text(), entry.Conductor
	}
	e.UUID = node.HistoryUUID(seq)
	return e, err
}

const (
	historyFromSQL = `
SELECT ` + historyColumns + `, n.uuid::text
  FROM events h JOIN nodes n ON n.id = h.node_id
 WHERE h.node_id = @node AND h.event_type <> ''`

	historySQL            = historyFromSQL + ` AND h.seq > @marker::bigint ORDER BY h.seq LIMIT @limit`
	historyNewestFirstSQL = historyFromSQL + ` AND h.seq < coalesce(nullif(@marker::bigint, 0), 9223372036854775807) ORDER BY h.seq DESC LIMIT @limit`
	eventSQL              = historyFromSQL + ` AND h.seq = @seq`
)

// historyMarker returns the number of the event with the uuid marker. ok is false if no event can have that uuid.
func historyMarker(marker string) (seq int64, ok bool, err error) {
	if marker == "" {
		return 0, true, nil
	}
	if !node.IsHyphenatedUUID(marker) {
		return 0, false, fault.New(fault.Invalid, "Expected a UUID but received %s.", words(marker, 64))
	}
	seq, ok = node.HistorySeq(marker)
	return seq, ok, nil
}

// History is a page of the node's events, oldest first unless SortDir is desc.
// The marker is the uuid of an event; other sort keys than created_at are refused.
func (s *Store) History(ctx context.Context, ident string, p node.Page) ([]node.HistoryEvent, error) {
	id, _, err := s.nodeID(ctx, ident)
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
	marker, ok, err := historyMarker(p.Marker)
	if err != nil || !ok {
		return nil, err
	}
	return list(ctx, s, "list history of node "+words(ident, 64), sql, args{"node": id, "limit": pageLimit(p.Limit), "marker": marker}, scanOfNode)
}

func scanOfNode(r pgx.Row) (node.HistoryEvent, error) {
	uuid := ""
	e, err := scanEvent(r, &uuid)
	e.NodeUUID = uuid
	return e, err
}

// HistoryEvent is one event of the node.
func (s *Store) HistoryEvent(ctx context.Context, ident, uuid string) (*node.HistoryEvent, error) {
	id, _, err := s.nodeID(ctx, ident)
	if err != nil {
		return nil, err
	}
	missing := fault.New(fault.NotFound, "Node history record %s could not be found.", words(uuid, 64))
	seq, ok := node.HistorySeq(uuid)
	if !ok {
		return nil, missing
	}
	var e node.HistoryEvent
	found, err := s.one(ctx, "read a history event", eventSQL, args{"node": id, "seq": seq}, func(r pgx.Row) (err error) {
		e, err = scanOfNode(r)
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
