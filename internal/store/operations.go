package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const operationSQL = `SELECT ` + operationColumns + ` FROM operations o WHERE o.id = @id`

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

func noOperation(id int64) error {
	return fault.New(fault.NotFound, "Operation %d could not be found.", id)
}

const operationsSQL = `SELECT ` + operationColumns + ` FROM operations o`

// Operations is a page of operations, newest first. A node that is gone is
// still found by its uuid.
func (s *Store) Operations(ctx context.Context, f node.OperationFilter) ([]node.Operation, error) {
	uuid := f.Node
	if uuid != "" && !isUUID(uuid) {
		var err error
		if _, uuid, err = s.nodeID(ctx, f.Node); err != nil {
			return nil, err
		}
	}
	q := operationsQuery(f, uuid)
	return list(ctx, s, "list operations", operationsSQL+q.String(), q.args, scanOperation)
}

func operationsQuery(f node.OperationFilter, nodeUUID string) *query {
	q := &query{args: args{"limit": pageLimit(f.Limit)}, tail: " ORDER BY o.id DESC LIMIT @limit"}
	if nodeUUID != "" {
		q.and("o.node_uuid = @node")
		q.args["node"] = nodeUUID
	}
	if f.Kind != "" {
		q.and("o.kind = @kind")
		q.args["kind"] = f.Kind
	}
	if f.Phase != "" {
		q.and("o.phase = @phase")
		q.args["phase"] = f.Phase
		if f.Phase != node.Ended { // for the index of the open ones
			q.and("o.ended_at IS NULL")
		}
	}
	if f.Marker > 0 {
		q.and("o.id < @marker")
		q.args["marker"] = f.Marker
	}
	return q
}

const (
	lockByOperationSQL = `
SELECT n.id, clock_timestamp() FROM nodes n JOIN operations o ON o.node_id = n.id WHERE o.id = @id FOR NO KEY UPDATE OF n`

	askSQL = `
UPDATE operations o SET asked = @ask, asked_by = @by, asked_reason = @reason, asked_power = @power, asked_at = clock_timestamp()
 WHERE o.id = @id AND o.ended_at IS NULL
RETURNING ` + operationColumns
)

// AskOperation records what somebody wants of an open operation, beside what
// its node's state allows: a cancel by number. fault.Conflict when it has ended.
func (s *Store) AskOperation(ctx context.Context, id int64, ask node.Ask, by, reason string) (*node.Operation, error) {
	var nodeID int64
	var o node.Operation
	var exists, held bool
	err := s.inTx(ctx, "ask of an operation", func(b *pgx.Batch) {
		b.Queue(lockByOperationSQL, args{"id": id}).QueryRow(maybe(&held, func(r pgx.Row) error { return r.Scan(&nodeID, nil) }))
		b.Queue(operationSQL, args{"id": id}).QueryRow(maybe(&exists, func(r pgx.Row) (err error) {
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
		steer := node.Steer{Ask: ask, By: by, Reason: reason}
		queueAsk(b, id, steer, &o)
		queueHistory(b, nodeID, steeringEvent(id, steer))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &o, nil
}

func hasEnded(o node.Operation) error {
	return fault.New(fault.Conflict, "Operation %d of node %s has ended already.", o.ID, o.NodeUUID)
}

// queueAsk records the ask. The caller holds the node's lock, without which no
// operation ends: a row that is not open any more is an error of the program.
func queueAsk(b *pgx.Batch, id int64, st node.Steer, o *node.Operation) {
	a := args{"id": id, "ask": st.Ask, "by": words(st.By, 255), "reason": words(st.Reason, maxError), "power": st.Power}
	b.Queue(askSQL, a).QueryRow(func(r pgx.Row) (err error) {
		*o, err = scanOperation(r)
		return err
	})
}

func steeringEvent(id int64, st node.Steer) node.HistoryEvent {
	e := node.HistoryEvent{Event: "asked to " + string(st.Ask), EventType: eventSteering, User: st.By, Operation: id}
	if st.Reason != "" {
		e.Event += ": " + st.Reason
	}
	return e
}
