package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/share"
)

// One statement, so that epoch and share are of one moment. The first row is
// there also where the share is empty.
const sharePageSQL = `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
SELECT e.epoch, v.id IS NOT NULL, coalesce(v.host, ''), coalesce(v.live, false), p.uuid, p.name, p.resource_class, p.traits,
	p.instance_uuid, p.absent, p.provision_state, p.maintenance, p.offered
  FROM share_epoch e
  LEFT JOIN (SELECT v.id, v.host, compute_live(v, @lease) AS live FROM compute_services v WHERE v.name = lower(@host::text)) v ON true
  LEFT JOIN LATERAL (
	SELECT n.id, n.uuid::text, coalesce(n.name, '') AS name, coalesce(n.resource_class, '') AS resource_class, n.traits,
		coalesce(n.instance_uuid::text, '') AS instance_uuid, coalesce(i.wanted = 'absent', false) AS absent,
		n.provision_state, n.maintenance, (` + availableSQL + `) IS TRUE AS offered
	  FROM shares s JOIN nodes n ON n.id = s.node_id LEFT JOIN instances i ON instance_stands(i, n)
	 WHERE s.owner_id = v.id AND s.node_id > CASE WHEN @marker::text = '' THEN 0 ELSE (SELECT m.id FROM nodes m WHERE m.uuid = nullif(@marker::text, '')::uuid) END
	   AND e.epoch = coalesce(nullif(@epoch::bigint, 0), e.epoch)
	 ORDER BY s.node_id LIMIT @limit) p ON true
 ORDER BY p.id`

// SharePage is a page of the nodes in the share of a service, by age. epoch is
// the one that is asked for, 0 = whichever is published; marker the uuid of the
// last node of the page before. fault.Conflict where another one is published,
// fault.NotFound where the marker's node is gone.
func (s *Store) SharePage(ctx context.Context, host string, epoch int64, marker string, limit int) (share.Page, error) {
	var out share.Page
	var known bool
	a := args{"host": host, "epoch": epoch, "marker": marker, "limit": limit, "lease": micros(s.computeLease), "timeout": micros(s.conductorTimeout), "withhold": s.withhold}
	_, err := list(ctx, s, "read the share of "+words(host, 255), sharePageSQL, a, func(r pgx.Row) (struct{}, error) {
		var uuid, name, class, instance, state *string
		var absent, maintenance, offered *bool
		var traits []string
		err := r.Scan(&out.Epoch, &known, &out.Host, &out.Live, &uuid, &name, &class, &traits, &instance, &absent, &state, &maintenance, &offered)
		if err == nil && uuid != nil {
			out.Nodes = append(out.Nodes, share.Capacity{
				UUID: *uuid, Name: *name, ResourceClass: *class, Traits: traits, Instance: *instance, Absent: *absent,
				State: *state, Maintenance: *maintenance, Offered: *offered,
			})
		}
		return struct{}{}, err
	})
	switch {
	case err != nil:
		return out, err
	case !known:
		return out, NoCompute(host)
	case epoch != 0 && epoch != out.Epoch:
		return out, fault.New(fault.Conflict, "Epoch %d is over, epoch %d is published.", epoch, out.Epoch)
	case marker != "" && len(out.Nodes) == 0: // nodes may be deleted between two pages
		return out, s.needMarker(ctx, nodeMarkerSQL, marker, "Node %s could not be found.")
	}
	return out, nil
}

const (
	talliesSQL = `
SELECT n.conductor_group, n.instance_uuid IS NOT NULL, coalesce(i.service, ''), coalesce(i.wanted = 'absent', false), count(*),
	(array_agg(n.uuid::text ORDER BY n.id))[1:10]
  FROM nodes n LEFT JOIN instances i ON instance_stands(i, n)
 GROUP BY 1, 2, 3, 4`

	loadsSQL = `
SELECT s.owner_id, count(*), count(n.instance_uuid) FROM shares s JOIN nodes n ON n.id = s.node_id WHERE s.owner_id IS NOT NULL GROUP BY 1`

	pendingSQL = `
SELECT s.leaving_id, count(*) FROM shares s WHERE s.leaving_id IS NOT NULL GROUP BY 1`
)

// ShareOverview is the split as an operator wants to see it, at this moment.
func (s *Store) ShareOverview(ctx context.Context) (share.Overview, error) {
	out := share.Overview{Loads: map[int64]share.Load{}}
	c := s.call("read the split of nodes")
	ctx, cancel := c.within(ctx)
	defer cancel()
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var h shareHead
		b := &pgx.Batch{}
		b.Queue(headSQL).QueryRow(func(r pgx.Row) error { return r.Scan(h.into()...) })
		b.Queue(servicesSQL, s.leaseArgs()).Query(collect(&out.Services, eachService()))
		b.Queue(talliesSQL).Query(func(rows pgx.Rows) (err error) {
			out.Tallies, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (t share.Tally, err error) {
				return t, r.Scan(&t.Group, &t.Instance, &t.Service, &t.Absent, &t.Nodes, &t.Some)
			})
			return err
		})
		b.Queue(loadsSQL).Query(func(rows pgx.Rows) error {
			var id int64
			var l share.Load
			_, err := pgx.ForEachRow(rows, []any{&id, &l.Nodes, &l.Instances}, func() error {
				out.Loads[id] = l
				return nil
			})
			return err
		})
		b.Queue(pendingSQL).Query(func(rows pgx.Rows) error {
			var id int64
			var n int
			_, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error {
				l := out.Loads[id]
				l.Leaving = n
				out.Loads[id] = l
				return nil
			})
			return err
		})
		err := tx.SendBatch(ctx, b).Close()
		out.Epoch = h.epoch
		return err
	})
	return out, c.fail(err)
}
