package store

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const operationSQL = `SELECT o.* FROM operations o WHERE o.id = @id`

// Operation is the operation of that number, open or ended.
func (s *Store) Operation(ctx context.Context, id int64) (*node.Operation, error) {
	var o node.Operation
	found, err := s.one(ctx, "read an operation", operationSQL, args{"id": id}, func(r pgx.Row) (err error) {
		o, err = scanOperation(r)
		return err
	})
	if err == nil && !found {
		err = noOperation(id)
	}
	if err != nil {
		return nil, err
	}
	return &o, nil
}

func noOperation(id int64) error { return node.OperationNotFound(strconv.FormatInt(id, 10)) }

const operationsSQL = `SELECT o.* FROM operations o`

// Operations is a page of operations, newest first. A node that was deleted is
// still found by its uuid or name.
func (s *Store) Operations(ctx context.Context, f node.OperationFilter) ([]node.Operation, error) {
	var uuid string
	if f.Node != "" {
		var living bool
		var err error
		if uuid, living, err = s.onceNode(ctx, f.Node); err != nil && !(fault.Is(err, fault.NotFound) && node.IsHyphenatedUUID(f.Node)) {
			return nil, err
		}
		if uuid == "" {
			uuid = f.Node
		}
		f.Deleted = f.Deleted || !living
	}
	q := operationsQuery(f, uuid)
	return list(ctx, s, "list operations", q.operationsSQL(f.Only), q.args, eachOperation())
}

// operationsSQL returns the statement of a list of operations of the nodes that a view shows.
func (q *query) operationsSQL(v *node.View) string {
	if v == nil {
		return operationsSQL + q.String()
	}
	q.only(v, "n")
	return operationsSQL + " JOIN nodes n ON n.id = o.node_id" + q.String()
}

const newestEndedSQL = `
SELECT o.* FROM operations o
 WHERE o.id IN (SELECT max(e.id) FROM operations e WHERE e.node_uuid = @node AND e.node_id IS NOT NULL AND e.phase = 'ended' GROUP BY e.kind)
 ORDER BY o.id DESC`

// NewestEnded returns the newest operation of each kind of those of the node that have ended, the newest first.
func (s *Store) NewestEnded(ctx context.Context, nodeUUID string) ([]node.Operation, error) {
	return list(ctx, s, "read the newest operations of node "+words(nodeUUID, 64), newestEndedSQL, args{"node": nodeUUID}, eachOperation())
}

// sinceSQL is the condition on accepted_at. A list is read by id, and ids grow with accepted_at except
// among transactions that overlap; none lasts ten minutes (idleInTxTimeout, StatementTimeout). So all
// that were accepted since then have a greater id than the newest of those accepted ten minutes before,
// and any index that ends with the id finds where to stop.
const sinceSQL = `o.accepted_at >= @since AND o.id > coalesce((
	SELECT i.id FROM operations i WHERE i.accepted_at < @since::timestamptz - interval '10 minutes' ORDER BY i.accepted_at DESC LIMIT 1), 0)`

func operationsQuery(f node.OperationFilter, nodeUUID string) *query {
	q := &query{args: args{"limit": pageLimit(f.Limit)}, tail: " ORDER BY o.id DESC LIMIT @limit"}
	if nodeUUID != "" {
		q.and("o.node_uuid = @node")
		q.args["node"] = nodeUUID
	}
	switch {
	case f.Deleted:
		q.and("o.node_id IS NULL")
	case nodeUUID != "": // and not of an earlier node of the same uuid
		q.and("o.node_id IS NOT NULL")
	}
	if f.Kind != "" {
		q.and("o.kind = @kind")
		q.args["kind"] = f.Kind
	}
	switch f.Phase {
	case "":
	case node.Ended:
		q.and("o.phase = 'ended'")
	default:
		q.and("o.ended_at IS NULL AND o.state = @state")
		q.args["state"] = f.Phase
	}
	if f.Outcome != "" {
		q.and("o.outcome = @outcome")
		q.args["outcome"] = f.Outcome
	}
	if f.Cause != "" {
		q.and("o.cause = @cause")
		q.args["cause"] = f.Cause
	}
	if f.Conductor != "" {
		q.and("o.conductor = @conductor")
		q.args["conductor"] = f.Conductor
	}
	if !f.Since.IsZero() {
		q.and(sinceSQL)
		q.args["since"] = f.Since
	}
	if f.Fold {
		q.and("o.repeated_by IS NULL")
	}
	if f.Marker > 0 {
		q.and("o.id < @marker")
		q.args["marker"] = f.Marker
	}
	return q
}

const lockByOperationSQL = `
SELECT n.id, clock_timestamp() FROM nodes n JOIN operations o ON o.node_id = n.id WHERE o.id = @id FOR NO KEY UPDATE OF n`

// AskOperation records what somebody wants of an open operation, beside what
// its node's state allows: a cancel by number. fault.Conflict when it has ended.
func (s *Store) AskOperation(ctx context.Context, id int64, ask node.Ask, by, reason string) (*node.Operation, error) {
	var nodeID int64
	var o node.Operation
	var exists, held bool
	err := s.inTx(ctx, "ask of an operation", func(b *pgx.Batch) {
		b.Queue(lockByOperationSQL, args{"id": id}).QueryRow(maybe(&held, func(r pgx.Row) error { return r.Scan(&nodeID, nil) }))
		b.Queue(lockOperationSQL, args{"id": id}).QueryRow(maybe(&exists, func(r pgx.Row) (err error) {
			o, err = scanOperation(r)
			return err
		}))
	}, func(b *pgx.Batch) error {
		if !exists {
			return noOperation(id)
		}
		if o.EndedAt != nil || !held {
			return hasEnded(o)
		}
		audit.Of(ctx).OnNode(o.NodeUUID, o.NodeName)
		audit.Of(ctx).Opens(id)
		steer := node.Steer{Ask: ask, By: by, Reason: reason}
		if err := queueAsk(b, o, steer, &o); err != nil {
			return err
		}
		queueHistory(b, nodeID, steeringEvent(id, steer))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &o, nil
}

func hasEnded(o node.Operation) error {
	return fault.Coded(fault.OperationEnded, "Operation %d of node %s has ended already.", o.ID, o.NodeUUID)
}

func steeringEvent(id int64, st node.Steer) node.HistoryEvent {
	e := node.HistoryEvent{Event: "asked to " + string(st.Ask), EventType: node.HistorySteering, User: st.By, Operation: id}
	if st.Reason != "" {
		e.Event += ": " + st.Reason
	}
	return e
}
