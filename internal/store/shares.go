package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/share"
)

const (
	headSQL = `SELECT e.epoch, e.revision, e.published, e.members, e.live FROM share_epoch e`

	// shareNodesSQL reads all nodes with their shares. Its last column says whether the published epoch was computed with the
	// node's present group and instance.
	shareNodesSQL = `
SELECT n.id, n.uuid::text, n.conductor_group, coalesce(n.instance_uuid::text, ''), coalesce(i.service, ''),
	coalesce(s.owner_id, 0), coalesce(s.leaving_id, 0), coalesce(s.left_in, 0), coalesce(s.entering_id, 0),
	(share_seen(s, n, i)) IS TRUE
  FROM nodes n LEFT JOIN shares s ON s.node_id = n.id LEFT JOIN instances i ON instance_stands(i, n)
 ORDER BY n.id`

	staleSQL = `
SELECT EXISTS (SELECT FROM nodes n LEFT JOIN shares s ON s.node_id = n.id LEFT JOIN instances i ON instance_stands(i, n)
	WHERE (share_seen(s, n, i)) IS NOT TRUE)`
)

// shareHead is the row of share_epoch.
type shareHead struct {
	epoch, revision, published int64
	members                    string
	live                       []int64
}

func (h *shareHead) into() []any {
	return []any{&h.epoch, &h.revision, &h.published, &h.members, &h.live}
}

// SharesStale reports whether a new epoch would differ from the published one, because services,
// their settings, nodes, conductor groups or instances have changed. PostgreSQL compares the nodes,
// so that none is read into this process.
func (s *Store) SharesStale(ctx context.Context) (stale bool, err error) {
	var h shareHead
	if _, err := s.one(ctx, "read the epoch of shares", headSQL, nil, func(r pgx.Row) error { return r.Scan(h.into()...) }); err != nil {
		return false, err
	}
	services, err := s.ComputeServices(ctx)
	switch {
	case err != nil:
		return false, err
	case h.revision == 0: // no service was ever registered
		return false, nil
	case h.revision != h.published, share.NewSplit(services).Signature() != h.members:
		return true, nil
	}
	_, err = s.one(ctx, "compare nodes with their shares", staleSQL, nil, func(r pgx.Row) error { return r.Scan(&stale) })
	return stale, err
}

// readShares reads everything that shares are computed from, in one snapshot of the database.
func (s *Store) readShares(ctx context.Context) (st share.State, h shareHead, err error) {
	c := s.call("read shares")
	ctx, cancel := c.within(ctx)
	defer cancel()
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, headSQL).Scan(h.into()...); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, servicesSQL, s.leaseArgs())
		if err != nil {
			return err
		}
		if err = collect(&st.Services, eachService())(rows); err != nil {
			return err
		}
		if rows, err = tx.Query(ctx, shareNodesSQL); err != nil {
			return err
		}
		st.Nodes, err = pgx.CollectRows(rows, scanShareNode)
		return err
	})
	st.Epoch = h.epoch
	return st, h, c.fail(err)
}

func scanShareNode(r pgx.CollectableRow) (n share.Node, err error) {
	return n, r.Scan(&n.ID, &n.UUID, &n.Group, &n.Instance, &n.Service,
		&n.Held.Owner, &n.Held.Leaving, &n.Held.LeftIn, &n.Held.Entering, &n.Seen)
}

// ShareState returns services and nodes in one snapshot of the database, for the computation of
// shares that are not published (a what-if).
func (s *Store) ShareState(ctx context.Context) (share.State, error) {
	st, _, err := s.readShares(ctx)
	return st, err
}

// publishTries is how often PublishShares computes the epoch again because another process has
// published one meanwhile.
const publishTries = 20

// errOvertaken means that the epoch was computed from what is not true any more: another process has
// published an epoch meanwhile, or a service that seemed dead is live.
var errOvertaken = errors.New("another epoch came first")

// PublishShares publishes the rows that decide returns as the next epoch. It does so in one
// transaction, which writes nothing if the epoch is not the one that decide has seen; then decide is
// called again. If an epoch that follows revision is published already, PublishShares does nothing;
// with revision 0 it always publishes.
func (s *Store) PublishShares(ctx context.Context, revision int64, decide func(share.State) []share.Row) (share.Published, error) {
	s.publishing.Lock() // two calls in one process would only make each other begin again
	defer s.publishing.Unlock()
	for range publishTries {
		st, h, err := s.readShares(ctx)
		if err != nil {
			return share.Published{}, err
		}
		if revision > 0 && h.published >= revision {
			return share.Published{Epoch: h.epoch}, nil
		}
		p, err := s.writeShares(ctx, st, h, decide(st))
		if !errors.Is(err, errOvertaken) {
			return p, err
		}
	}
	return share.Published{}, fault.New(fault.Unavailable, "publish shares: %w, %d times", errOvertaken, publishTries)
}

const (
	raiseEpochSQL = `
UPDATE share_epoch SET epoch = epoch + 1, published = @revision, members = @members, live = @live, published_at = clock_timestamp()
 WHERE epoch = @epoch AND revision = @revision RETURNING epoch`

	// awokenSQL reads whether services that seemed dead are live. It locks their rows, so that it sees a heartbeat that is being
	// written, and one that begins now waits until the epoch is published.
	awokenSQL = `SELECT compute_live(v, @lease) FROM compute_services v WHERE v.id = ANY(@dead) FOR SHARE`

	// writeSharesSQL writes the rows of an epoch. A node whose group or instance has changed since the epoch was computed keeps
	// its row until the next epoch. The nodes are locked first, in one order, so that a node that is being deleted gets no share
	// and two statements do not wait for each other.
	writeSharesSQL = `
WITH held AS MATERIALIZED (SELECT n.id FROM nodes n WHERE n.id = ANY(@ids::bigint[]) ORDER BY n.id FOR KEY SHARE)
INSERT INTO shares AS s (node_id, owner_id, leaving_id, left_in, entering_id, conductor_group, instance_uuid, service)
SELECT n.id, nullif(d.owner, 0), nullif(d.leaving, 0), nullif(d.left_in, 0), nullif(d.entering, 0), d.conductor_group, n.instance_uuid, d.service
  FROM unnest(@ids::bigint[], @owners::bigint[], @leaving::bigint[], @left::bigint[], @entering::bigint[],
	@groups::text[], @instances::text[], @services::text[]) AS d (id, owner, leaving, left_in, entering, conductor_group, instance, service)
  JOIN nodes n ON n.id = d.id AND n.conductor_group = d.conductor_group AND coalesce(n.instance_uuid::text, '') = d.instance
 WHERE n.id IN (SELECT held.id FROM held)
 ORDER BY n.id
ON CONFLICT (node_id) DO UPDATE SET
	owner_id = excluded.owner_id, leaving_id = excluded.leaving_id, left_in = excluded.left_in, entering_id = excluded.entering_id,
	conductor_group = excluded.conductor_group, instance_uuid = excluded.instance_uuid, service = excluded.service`
)

func (s *Store) writeShares(ctx context.Context, st share.State, h shareHead, rows []share.Row) (p share.Published, err error) {
	var live, dead []int64
	for _, v := range st.Services {
		if v.Live {
			live = append(live, v.ID)
		} else {
			dead = append(dead, v.ID)
		}
	}
	for _, id := range h.live {
		if !slices.Contains(live, id) {
			p.Expired++
		}
	}
	if live == nil {
		live = []int64{}
	}
	var raised, awake bool
	err = s.inTx(ctx, "publish shares", func(b *pgx.Batch) {
		b.Queue(raiseEpochSQL, args{
			"epoch": h.epoch, "revision": h.revision, "members": share.NewSplit(st.Services).Signature(), "live": live,
		}).QueryRow(maybe(&raised, func(r pgx.Row) error { return r.Scan(&p.Epoch) }))
		b.Queue(awokenSQL, args{"dead": dead, "lease": micros(s.computeLease)}).Query(func(rows pgx.Rows) error {
			all, err := pgx.CollectRows(rows, pgx.RowTo[bool])
			awake = slices.Contains(all, true)
			return err
		})
	}, func(b *pgx.Batch) error {
		if !raised || awake {
			return errOvertaken
		}
		if len(rows) > 0 {
			b.Queue(writeSharesSQL, rowArgs(st.Nodes, rows)).Exec(countInto(&p.Moved))
		}
		return nil
	})
	return p, err
}

func rowArgs(nodes []share.Node, rows []share.Row) args {
	n := len(rows)
	ids, owners, leaving, left, entering := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	groups, instances, services := make([]string, n), make([]string, n), make([]string, n)
	for i, r := range rows {
		at := &nodes[r.Node]
		ids[i], owners[i], leaving[i], left[i], entering[i] = at.ID, r.Owner, r.Leaving, r.LeftIn, r.Entering
		groups[i], instances[i], services[i] = at.Group, at.Instance, at.Service
	}
	return args{
		"ids": ids, "owners": owners, "leaving": leaving, "left": left, "entering": entering,
		"groups": groups, "instances": instances, "services": services,
	}
}

func countInto(n *int) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*n = int(tag.RowsAffected())
		return nil
	}
}

const (
	someReleasedSQL = `
SELECT EXISTS (SELECT FROM shares s JOIN compute_services v ON share_released(s, v) WHERE s.leaving_id IS NOT NULL)
   AND e.published_at < clock_timestamp() - @age * interval '1 microsecond' FROM share_epoch e`

	// handOverSQL gives nodes to the services that own them next. The row of the epoch is locked by then, so that no service
	// can begin anew without what it has acknowledged.
	handOverSQL = `
UPDATE shares s SET owner_id = s.entering_id, leaving_id = NULL, left_in = NULL, entering_id = NULL
  FROM compute_services v, nodes n
 WHERE s.leaving_id IS NOT NULL AND share_released(s, v) AND n.id = s.node_id
   AND n.conductor_group = s.conductor_group AND n.instance_uuid IS NOT DISTINCT FROM s.instance_uuid`

	handedOverSQL = `UPDATE share_epoch SET epoch = epoch + 1, published_at = clock_timestamp() RETURNING epoch`
)

// HandOverShares gives nodes to the services that own them next, if the services that they have left
// are known to show them no more. That makes a new epoch. It does nothing while the published epoch
// is younger than least, so that one epoch serves the acknowledgements of many services.
func (s *Store) HandOverShares(ctx context.Context, least time.Duration) (share.Published, error) {
	var p share.Published
	var some bool
	if _, err := s.one(ctx, "look for shares to hand over", someReleasedSQL, args{"age": micros(least)}, func(r pgx.Row) error { return r.Scan(&some) }); err != nil || !some {
		return p, err
	}
	err := s.inTx(ctx, "hand shares over", func(b *pgx.Batch) {
		b.Queue(lockShareEpochSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&p.Epoch) })
		b.Queue(handOverSQL).Exec(countInto(&p.Moved))
	}, func(b *pgx.Batch) error {
		if p.Moved == 0 {
			return errLeave
		}
		b.Queue(handedOverSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&p.Epoch) })
		return nil
	})
	return p, err
}
