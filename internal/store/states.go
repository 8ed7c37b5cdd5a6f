package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

var setMaintenanceSQL = nodeUpdate(`
UPDATE nodes SET maintenance = @on, maintenance_reason = nullif(@reason, ''),
	fault = CASE WHEN @on THEN fault END, maintenance_by_fault = false, updated_at = clock_timestamp()
 WHERE id = @id`)

// SetMaintenance puts a node into maintenance or takes it out, which clears
// reason and fault. An open operation is no obstacle: it is paused meanwhile, and
// returned, so that its workflow can be told; nil = none.
func (s *Store) SetMaintenance(ctx context.Context, ident string, on bool, reason, user string) (o *node.Operation, err error) {
	var held node.Operation
	queueReads := func(b *pgx.Batch) { queueLockOpen(b, ident, &held) }
	err = s.inNodeTxAfter(ctx, ident, "set maintenance of node "+words(ident, 64), queueReads, func(l *lockedNode, b *pgx.Batch) error {
		if !on {
			reason = ""
		}
		l.Maintenance, l.MaintenanceReason, l.MaintenanceByFault = on, words(reason, maxError), false
		if !on {
			l.Fault = ""
		}
		if _, err := l.queueUpdate(b, setMaintenanceSQL, args{"id": l.ID, "on": on, "reason": l.MaintenanceReason}); err != nil {
			return err
		}
		if held.ID != 0 {
			o = &held
		}
		queueHistory(b, l.ID, maintenanceEvent(on, reason, user))
		return l.queueHeld(b, &held, true)
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

func maintenanceEvent(on bool, reason, user string) node.HistoryEvent {
	e := node.HistoryEvent{Event: "maintenance off", EventType: node.HistoryMaintenance, User: user}
	if on {
		e.Event = "maintenance on"
		if reason != "" {
			e.Event += ": " + reason
		}
	}
	return e
}

var setTraitsSQL = nodeUpdate(`UPDATE nodes SET traits = @traits, updated_at = clock_timestamp() WHERE id = @id`)

// SetTraits gives the node exactly these traits.
func (s *Store) SetTraits(ctx context.Context, ident string, traits []string) error {
	return s.changeTraits(ctx, ident, func([]string) ([]string, error) { return traits, nil })
}

// AddTrait adds one; one that is there already is fine.
func (s *Store) AddTrait(ctx context.Context, ident, trait string) error {
	return s.changeTraits(ctx, ident, func(have []string) ([]string, error) { return append(have, trait), nil })
}

// RemoveTrait takes one away; fault.NotFound where the node does not have it.
func (s *Store) RemoveTrait(ctx context.Context, ident, trait string) error {
	return s.changeTraits(ctx, ident, func(have []string) ([]string, error) {
		i := slices.Index(have, trait)
		if i < 0 {
			return nil, fault.New(fault.NotFound, "Node %s doesn't have a trait '%s'", words(ident, 255), words(trait, 255))
		}
		return slices.Delete(have, i, i+1), nil
	})
}

// MaxTraits is how many traits a node can have (Ironic's limit, and the schema's).
const MaxTraits = 50

func (s *Store) changeTraits(ctx context.Context, ident string, change func([]string) ([]string, error)) error {
	return s.inNodeTx(ctx, ident, "set traits of node "+words(ident, 64), func(l *lockedNode, b *pgx.Batch) error {
		traits, err := change(l.Traits)
		if err != nil {
			return err
		}
		traits = sortedTraits(traits)
		if len(traits) > MaxTraits {
			return fault.New(fault.Invalid, "A node can have at most %d traits, node %s would have %d.", MaxTraits, l.UUID, len(traits))
		}
		changed := []string{"traits"}
		if slices.Equal(traits, sortedTraits(l.Traits)) {
			changed = nil
		}
		_, err = l.queueUpdate(b, setTraitsSQL, args{"id": l.ID, "traits": traits}, changed...)
		return err
	})
}

func sortedTraits(traits []string) []string {
	out := append([]string{}, traits...)
	slices.Sort(out)
	return slices.Compact(out)
}
