package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
)

// maxChanges is how many notes of changes one epoch takes up.
const maxChanges = 200_000

const (
	epochSQL   = `SELECT epoch, members FROM ring_epoch`
	membersSQL = `SELECT c.id FROM conductors c CROSS JOIN witness w WHERE NOT c.draining AND conductor_kept(c, w, @timeout) ORDER BY c.id`

	needsSQL   = `SELECT d.id, d.conductor_group, d.driver, d.wants -> d.driver FROM needs d ORDER BY d.id`
	ringsSQL   = `SELECT r.conductor_group, r.driver, r.covers, r.unsettled FROM rings r ORDER BY r.conductor_group, r.driver`
	changesSQL = `SELECT x.id, x.need_id FROM ring_changes x LIMIT @limit`
)

// Fleet reads what the ring is computed from, in one snapshot. It costs the same
// however many nodes there are.
func (s *Store) Fleet(ctx context.Context) (*coverage.Fleet, error) {
	var f coverage.Fleet
	var members []int64
	timeout := args{"timeout": micros(s.conductorTimeout)}
	err := s.inTx(ctx, "read the fleet", func(b *pgx.Batch) {
		b.Queue("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
		b.Queue(epochSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&f.Epoch, &f.Before) })
		b.Queue(conductorsSQL, s.lives()).Query(collect(&f.Conductors, eachConductor()))
		b.Queue(membersSQL, timeout).Query(collect(&members, scanID))
		b.Queue(needsSQL).Query(collect(&f.Requirements, func(r pgx.Row) (p coverage.Requirement, err error) {
			var wants map[string][]string
			err = r.Scan(&p.ID, &p.Group, &p.Driver, &wants)
			p.Interfaces = make(map[string]string, len(wants))
			for kind, impl := range wants {
				p.Interfaces[kind] = impl[0] // a list of one, as the trigger makes it
			}
			return p, err
		}))
		b.Queue(ringsSQL).Query(collect(&f.Rings, func(r pgx.Row) (g coverage.RingState, err error) {
			return g, r.Scan(&g.Group, &g.Driver, &g.Covers, &g.Unsettled)
		}))
		b.Queue(changesSQL, args{"limit": maxChanges}).Query(func(rows pgx.Rows) error {
			var id, need int64
			_, err := pgx.ForEachRow(rows, []any{&id, &need}, func() error {
				f.Changes = append(f.Changes, id)
				f.Changed = append(f.Changed, need)
				return nil
			})
			return err
		})
	}, func(*pgx.Batch) error { return errLeave })
	if err != nil {
		return nil, err
	}
	slices.Sort(f.Changed)
	f.Changed = slices.Compact(f.Changed)
	for _, c := range f.Conductors {
		if slices.Contains(members, c.ID) {
			f.Members = append(f.Members, c)
		}
	}
	return &f, nil
}

func scanID(r pgx.Row) (id int64, err error) { return id, r.Scan(&id) }

// collect fills into with the rows of a queued statement.
func collect[T any](into *[]T, scan func(pgx.Row) (T, error)) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (T, error) { return scan(r) })
		return err
	}
}

const ringNodesSQL = `
SELECT n.id, n.uuid::text, n.need_id, coalesce(w.conductor_id, 0), o.id IS NOT NULL
  FROM nodes n LEFT JOIN ring_owners w ON w.node_id = n.id LEFT JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL
 WHERE n.need_id = ANY(@needs)`

// RingNodes are the nodes of these needs with their owners.
func (s *Store) RingNodes(ctx context.Context, needs []int64) ([]coverage.RingNode, error) {
	if len(needs) == 0 {
		return nil, nil
	}
	return list(ctx, s, "list nodes of the ring", ringNodesSQL, args{"needs": needs}, func(r pgx.Row) (n coverage.RingNode, err error) {
		return n, r.Scan(&n.ID, &n.UUID, &n.Requirement, &n.Owner, &n.Pinned)
	})
}

const namesSQL = `SELECT n.uuid::text, n.name FROM nodes n WHERE n.uuid = ANY(@uuids::uuid[]) AND n.name IS NOT NULL`

// Names are the names of those nodes that have one, by uuid.
func (s *Store) Names(ctx context.Context, uuids []string) (map[string]string, error) {
	out := map[string]string{}
	_, err := list(ctx, s, "read the names of nodes", namesSQL, args{"uuids": uuids}, func(r pgx.Row) (struct{}, error) {
		var uuid, name string
		err := r.Scan(&uuid, &name)
		out[uuid] = name
		return struct{}{}, err
	})
	return out, err
}

const (
	lockEpochSQL = `SELECT epoch FROM ring_epoch FOR UPDATE`
	nextEpochSQL = `UPDATE ring_epoch SET epoch = @epoch, members = @members`

	setOwnersSQL = `
INSERT INTO ring_owners (node_id, conductor_id)
SELECT n.id, x.owner FROM unnest(@nodes::bigint[], @owners::bigint[]) AS x (node, owner) JOIN nodes n ON n.id = x.node
 WHERE x.owner <> 0
ON CONFLICT (node_id) DO UPDATE SET conductor_id = excluded.conductor_id`
	// Those whose node was deleted while an epoch was written go, too.
	dropOwnersSQL = `
DELETE FROM ring_owners w WHERE w.node_id IN (SELECT x.node FROM unnest(@nodes::bigint[], @owners::bigint[]) AS x (node, owner) WHERE x.owner = 0)
    OR NOT EXISTS (SELECT FROM nodes n WHERE n.id = w.node_id)`
	setRingSQL = `
INSERT INTO rings (conductor_group, driver, covers, unsettled) VALUES (@group, @driver, @covers, @unsettled)
ON CONFLICT (conductor_group, driver) DO UPDATE SET covers = excluded.covers, unsettled = excluded.unsettled`
	dropChangesSQL = `DELETE FROM ring_changes WHERE id = ANY(@changes)`
)

// WriteEpoch writes the epoch after e.Read and returns its number. It writes nothing and returns
// fault.Conflict if another epoch was written meanwhile, or if other conductors are alive than
// those it was computed from: a process that was frozen must not undo what others have done.
func (s *Store) WriteEpoch(ctx context.Context, e coverage.Epoch) (int64, error) {
	var now int64
	var members []int64
	epoch := e.Read + 1
	err := s.inTx(ctx, fmt.Sprintf("write epoch %d", epoch), func(b *pgx.Batch) {
		b.Queue(lockEpochSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&now) })
		b.Queue(membersSQL, args{"timeout": micros(s.conductorTimeout)}).Query(collect(&members, scanID))
	}, func(b *pgx.Batch) error {
		switch {
		case now != e.Read:
			return fault.New(fault.Conflict, "epoch %d was computed from epoch %d, and the newest is %d", epoch, e.Read, now)
		case !slices.Equal(members, slices.Sorted(slices.Values(e.Members))):
			return fault.New(fault.Conflict, "epoch %d was computed for other conductors than those that are alive", epoch)
		}
		b.Queue(nextEpochSQL, args{"epoch": epoch, "members": members})
		if len(e.Nodes) > 0 {
			b.Queue(setOwnersSQL, args{"nodes": e.Nodes, "owners": e.Owners})
		}
		if len(e.Nodes) > 0 || len(e.Changes) > 0 {
			b.Queue(dropOwnersSQL, args{"nodes": e.Nodes, "owners": e.Owners})
		}
		for _, r := range e.Rings {
			b.Queue(setRingSQL, args{"group": r.Group, "driver": r.Driver, "covers": r.Covers, "unsettled": r.Unsettled})
		}
		if len(e.Changes) > 0 {
			b.Queue(dropChangesSQL, args{"changes": e.Changes})
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return epoch, nil
}

// A process that was killed can't delete its row; it stays for some time, so that people see it.
const reconciledSQL = `
WITH gone AS (DELETE FROM processes WHERE seen_at < clock_timestamp() - @keep * interval '1 microsecond')
UPDATE ring_epoch SET reconciled_at = clock_timestamp()`

// Reconciled records that a reconciliation has ended.
func (s *Store) Reconciled(ctx context.Context) error {
	_, err := s.exec(ctx, "note a reconciliation", reconciledSQL, args{"keep": micros(coverage.ForgottenAfter)})
	return err
}
