package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const (
	followUpSQL = `SELECT coalesce(o.follow_up, 0) FROM operations o WHERE o.id = @id`

	endSQL = `
UPDATE operations SET phase = 'ended', outcome = @outcome, error = nullif(@error, ''), ended_at = clock_timestamp(),
	waiting_for = '', waiting_until = NULL, missing_since = NULL, steps = @steps,
	stalled = '', stalled_at = NULL, kept_for = '', kept_left = NULL, paused = false
 WHERE id = @id`

	linkFollowUpSQL = `UPDATE operations SET follow_up = @follow_up WHERE id = @id`
)

// CloseOperation ends the operation and writes what its end does to its node
// (node.Closing), in one transaction. Closing what is closed with the same
// outcome gives the same answer; another outcome is fault.Conflict, another run
// fault.Lost. Where somebody asked for the node meanwhile, the operation that
// followUp plans for it is opened at once and returned; nil = the node is free.
func (s *Store) CloseOperation(ctx context.Context, end node.End, followUp func(*node.Node) (*node.Operation, error)) (*node.Operation, error) {
	end.Error = words(end.Error, maxError)
	c := closing{store: s, end: end, plan: followUp}
	err := s.inTx(ctx, "close an operation", func(b *pgx.Batch) {
		c.queueLock(b, end.Operation)
		b.Queue(followUpSQL, args{"id": end.Operation}).QueryRow(maybe(new(bool), func(r pgx.Row) error { return r.Scan(&c.follow) }))
		b.Queue(nextOperationSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&c.next) })
	}, c.decide)
	switch {
	case err != nil:
		return nil, err
	case c.out != nil:
		return c.out, nil
	case c.follow != 0: // closed before
		return s.Operation(ctx, c.follow)
	}
	return nil, nil
}

// closing is an operation that is being closed.
type closing struct {
	fenced
	store  *Store
	end    node.End
	plan   func(*node.Node) (*node.Operation, error)
	follow int64 // the follow-up of one that is closed already
	next   int64 // number of the follow-up, if one is opened
	out    *node.Operation
}

func (c *closing) decide(b *pgx.Batch) error {
	switch {
	case !c.ok:
		return noOperation(c.end.Operation)
	case c.end.RunID != "" && c.op.RunID != "" && c.op.RunID != c.end.RunID:
		return fault.New(fault.Lost, "operation %d is another run's", c.op.ID)
	case c.op.EndedAt != nil && c.op.Outcome == c.end.Outcome:
		return errLeave
	case c.op.EndedAt != nil:
		return fault.New(fault.Conflict, "Operation %d of node %s has ended already: %s.", c.op.ID, c.op.NodeUUID, c.op.Outcome)
	case !c.found || c.Operation == nil:
		return fault.New(fault.Internal, "close operation %d: its node %s is gone", c.op.ID, c.op.NodeUUID)
	}
	effects, err := node.Closing(&c.Node, c.end)
	if err != nil {
		return err
	}
	had := places(&c.Node)
	c.take(effects)
	if err := c.queueState(b, c.store, had, nil); err != nil {
		return err
	}
	c.op.EndSteps(c.end.Outcome, time.Now().UTC())
	var d dicts
	steps := d.steps(c.op.Steps)
	if d.err != nil {
		return d.err
	}
	b.Queue(endSQL, args{"id": c.op.ID, "outcome": c.end.Outcome, "error": c.end.Error, "steps": steps})
	c.queueForgetArguments(b)
	if effects.ClearInstance {
		queueClearInstance(b, c.ID)
	}
	if effects.ClearAgent {
		queueClearAgent(b, c.ID)
	}
	queueHistory(b, c.ID, c.event(effects))
	if effects.FollowUp == "" {
		return nil
	}
	return c.queueFollowUp(b, effects.FollowUp)
}

// take writes the effects into the locked node.
func (c *closing) take(e node.Effects) {
	c.moved(e.Moved)
	c.LastError, c.TargetPowerState, c.Owed = e.LastError, "", e.Owed
	if e.SetMaintenance {
		c.MaintenanceByFault = !c.Maintenance || c.MaintenanceByFault
		c.Maintenance, c.MaintenanceReason, c.Fault = true, e.MaintenanceReason, e.Fault
	}
}

func (c *closing) event(e node.Effects) node.HistoryEvent {
	out := node.HistoryEvent{
		Event:     string(c.op.Kind) + " " + string(c.end.Outcome) + ": " + movedWords(e.From, e.To),
		EventType: eventState, Severity: "INFO", Conductor: c.op.Conductor, User: c.end.By, Operation: c.op.ID,
	}
	if c.end.Outcome == node.Failed {
		out.EventType, out.Severity = eventError, "ERROR"
	}
	if c.end.Error != "" {
		out.Event += ": " + c.end.Error
	}
	return out
}

func (c *closing) queueFollowUp(b *pgx.Batch, kind node.Kind) error {
	if c.plan == nil {
		return fault.New(fault.Internal, "close operation %d: nobody plans the %s that follows", c.op.ID, kind)
	}
	n := c.Node
	n.Operation = nil
	o, err := c.plan(&n)
	if err != nil {
		return err
	}
	if o == nil || o.Kind != kind {
		return fault.New(fault.Internal, "close operation %d: a %s must follow", c.op.ID, kind)
	}
	open := *o
	if open.Origin == "" {
		open.Origin = n.ProvisionState
	}
	if open.RequestedBy == "" {
		open.RequestedBy = c.op.AskedBy
	}
	// It was asked for with the one that ends: a maintenance since then pauses both.
	open.InMaintenance = c.op.InMaintenance
	open.Paused = n.Maintenance && !open.InMaintenance
	a, err := operationArgs(c.next, &n, &open)
	if err != nil {
		return err
	}
	c.out = &node.Operation{}
	b.Queue(insertOperationSQL, a).QueryRow(func(r pgx.Row) (err error) {
		*c.out, err = scanOperation(r)
		return err
	})
	b.Queue(linkFollowUpSQL, args{"id": c.op.ID, "follow_up": c.next})
	queueHistory(b, c.ID, acceptedEvent(c.next, &open))
	return nil
}
