package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// nextOperationSQL is asked under the node's lock: numbers grow along each node.
const nextOperationSQL = `SELECT nextval('operations_id_seq')`

// Request does what a client asks, in one transaction with the decision: decide
// sees the node under its row's lock and says what is to happen. The answer is
// the operation that was opened, steered or joined, as it is then; nil where the node
// was only moved, or where decide gave nil. A node that is held already is
// fault.Conflict, even if decide did not look.
func (s *Store) Request(ctx context.Context, ident string, decide func(*node.Node) (*node.Request, error)) (*node.Operation, error) {
	o, _, err := s.RequestOnce(ctx, ident, node.IdempotencyKey{}, decide)
	return o, err
}

// RequestOnce is Request for one that may be sent again. Where it was accepted
// before, decide is not called and the operation is that of then, as it is now;
// fault.Conflict where the key was used for another request.
func (s *Store) RequestOnce(ctx context.Context, ident string, once node.IdempotencyKey, decide func(*node.Node) (*node.Request, error)) (o *node.Operation, repeated bool, err error) {
	r := request{store: s}
	var before earlier
	sent := false // what writes, together with the commit
	err = s.inTx(ctx, "request to node "+words(ident, 64), func(b *pgx.Batch) {
		r.queueLockBoth(b, ident)
		before.queue(b, ident, once)
		b.Queue(nextOperationSQL).QueryRow(func(row pgx.Row) error { return row.Scan(&r.next) })
	}, func(b *pgx.Batch) error {
		if !r.found() {
			return node.NotFound(ident)
		}
		audit.Of(ctx).OnNode(r.UUID, r.Name)
		if before.found {
			audit.Of(ctx).Opens(before.operation)
			if err := before.same(s, &r.Node, once); err != nil {
				return err
			}
			return errLeave
		}
		r.held = r.Operation
		req, err := decide(&r.Node)
		if err != nil {
			return err
		}
		if req == nil {
			return errLeave
		}
		r.Request = req
		if err := r.queue(b); err != nil {
			return err
		}
		audit.Of(ctx).Opens(r.number())
		if err := r.queueOnce(b, once); err != nil {
			return err
		}
		sent = true
		return nil
	})
	switch {
	case err != nil && sent && committedUnknown(err):
		return nil, false, fault.Coded(fault.RequestInDoubt, "%w", err)
	case err != nil:
		return nil, false, err
	case !before.found:
		return r.out, false, nil
	case before.operation == 0:
		return nil, true, nil
	}
	if o, err = s.Operation(ctx, before.operation); err != nil && unanswered(err) {
		err = fault.Coded(fault.RequestInDoubt, "%w", err) // it was accepted before, but not as what
	}
	return o, true, err
}

// request is one that is being written.
type request struct {
	lockedNode
	*node.Request
	store *Store

	next  int64           // number of the operation, if one is opened
	held  *node.Operation // the open operation before it
	moved node.Transition
	out   *node.Operation
}

// number is that of the operation that the request opens, steers or joins; 0 = it needs none.
func (r *request) number() int64 {
	switch {
	case r.Open != nil:
		return r.next
	case r.Steer != nil, r.Join:
		return r.held.ID
	}
	return 0
}

func (r *request) queue(b *pgx.Batch) error {
	switch {
	case r.Open != nil && r.held != nil:
		return node.Locked(&r.Node, r.held.Conductor)
	case r.Join && r.held != nil:
		r.out = r.held
		return nil
	case r.Join:
		return fault.New(fault.Conflict, "node %s has no operation to join", r.UUID)
	case r.Steer != nil && r.held == nil:
		return fault.New(fault.Conflict, "node %s has no operation to steer", r.UUID)
	}
	if r.Open != nil {
		r.Operation = r.Open // its target is where the node is to go
	}
	var err error
	if r.moved, err = node.Move(&r.Node, r.Move...); err != nil {
		return err
	}
	r.apply(r.moved)
	if r.Apply != nil {
		id, uuid := r.ID, r.UUID
		r.Apply(&r.Node)
		r.ID, r.UUID = id, uuid
	}
	switch {
	case r.Open != nil:
		return r.queueOpen(b)
	case r.Steer != nil && r.EndNow:
		return r.queueEnd(b)
	case r.Steer != nil:
		if err := r.queueGiven(b, r.Secrets); err != nil {
			return err
		}
		r.out = &node.Operation{}
		if err := queueAsk(b, *r.held, *r.Steer, r.out); err != nil {
			return err
		}
		queueHistory(b, r.ID, r.described(r.timed(steeringEvent(r.held.ID, *r.Steer))))
		return nil
	}
	if err := r.queueGiven(b, r.Secrets); err != nil {
		return err
	}
	if len(r.Move) > 0 || r.Event != "" {
		queueHistory(b, r.ID, r.described(r.timed(node.HistoryEvent{Event: r.moved.Words(), EventType: node.HistoryState})))
	}
	return nil
}

// queueGiven writes the node and the secrets that the request gives.
func (r *request) queueGiven(b *pgx.Batch, given node.Secrets) error {
	given = r.store.hide(&r.Node, given)
	if err := secret.CheckDestinations(r.had, &r.Node, given); err != nil {
		return err
	}
	sealed, err := r.store.sealAll(&r.Node, given)
	if err != nil {
		return err
	}
	sealed.queue(b, r.ID)
	return r.queueState(b)
}

// queueOpen inserts the operation, and seals its secrets under its number.
func (r *request) queueOpen(b *pgx.Batch) error {
	masked, hidden := secret.MaskArgs(&r.Node, r.Open.Kind, r.Open.Steps)
	secrets := node.Secrets{}
	prefix := operationPrefix(r.next)
	for path, v := range hidden { // what the caller left in the clear
		if !holdsMasked(v) {
			secrets[prefix+stepsPrefix+path] = v
		}
	}
	for name, v := range r.Secrets {
		if strings.HasPrefix(name, stepsPrefix) {
			name = prefix + name
		}
		secrets[name] = v
	}
	open := *r.Open
	open.Steps = masked
	if open.Origin == "" {
		open.Origin = r.moved.From
	}
	open.InMaintenance, open.Paused = r.Maintenance, false // who asks sees the maintenance, and wants it all the same
	a, err := operationArgs(r.next, &r.Node, &open)
	if err != nil {
		return err
	}
	if err := r.queueGiven(b, secrets); err != nil {
		return err
	}
	r.out = &node.Operation{}
	b.Queue(insertOperationSQL, a).QueryRow(func(row pgx.Row) (err error) {
		*r.out, err = scanOperation(row)
		return err
	})
	queueHistory(b, r.ID, r.described(r.timed(acceptedEvent(r.next, &open))))
	return nil
}

// described gives an event the request's words and its user.
func (r *request) described(e node.HistoryEvent) node.HistoryEvent {
	if r.Event != "" {
		e.Event = r.Event
	}
	if r.User != "" {
		e.User = r.User
	}
	return e
}

func acceptedEvent(id int64, o *node.Operation) node.HistoryEvent {
	return node.HistoryEvent{Event: string(o.Kind) + " accepted", EventType: node.HistoryAccepted, User: o.RequestedBy, Operation: id}
}

// Names of secrets that begin with stepsPrefix belong to the operation that a
// request opens; they are kept under its operationPrefix until it is closed.
const stepsPrefix = "steps/"

func operationPrefix(id int64) string { return fmt.Sprintf("operation/%d/", id) }

func operationArgs(id int64, n *node.Node, o *node.Operation) (args, error) {
	var d dicts
	group, driver := o.Group, o.Driver
	if driver == "" {
		group, driver = n.ConductorGroup, n.Driver
	}
	a := args{
		"id": id, "node_id": n.ID, "node_uuid": n.UUID, "node_name": n.Name, "kind": o.Kind, "requested_by": words(o.RequestedBy, 255),
		"origin": o.Origin, "target": o.Target, "power_target": o.PowerTarget, "soft_timeout_ms": o.SoftTimeout.Milliseconds(),
		"conductor_group": group, "driver": driver, "steps": d.steps(o.Steps), "undo": d.undo(o.Undo), "retry_of": o.RetryOf,
		"in_maintenance": o.InMaintenance, "paused": o.Paused, "on_failure": o.OnFailure, "take_up_limit": micros(node.TakeUpLimit),
	}
	return a, d.err
}
