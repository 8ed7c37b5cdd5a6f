package store

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/share"
)

const (
	// The lock keeps the shares as they are until the claim is committed.
	holdEpochSQL = `SELECT true FROM share_epoch FOR SHARE`

	// takeSQL records an instance that the service claims. If the node is not in the service's current
	// share, it writes the service '', which the constraint instances_claimed_from_share forbids: the
	// whole transaction fails. A service that is named only in instance_info may be unregistered.
	takeSQL = `
INSERT INTO instances AS i (uuid, node_id, service)
SELECT @uuid::uuid, @node::bigint, CASE
	WHEN EXISTS (SELECT FROM shares s JOIN compute_services v ON v.id = s.owner_id
		WHERE s.node_id = @node::bigint AND v.name = lower(@service::text) AND compute_live(v, @lease)) THEN lower(@service::text)
	WHEN NOT @named::boolean AND NOT EXISTS (SELECT FROM compute_services v WHERE v.name = lower(@service::text)) THEN lower(@service::text)
	ELSE '' END
ON CONFLICT (uuid) DO UPDATE SET node_id = excluded.node_id, service = excluded.service, wanted = 'present',
	created_at = excluded.created_at, absent_since = NULL, confirmed_at = NULL`

	// recordSQL records the instance of an allocation that gets a locked node. No service claims it,
	// so its service is the one that instance_info names, or none.
	recordSQL = `
INSERT INTO instances AS i (uuid, node_id, service)
SELECT @uuid::uuid, n.id, CASE WHEN jsonb_typeof(n.instance_info -> 'nova_host_id') = 'string'
	THEN nullif(left(lower(btrim(n.instance_info ->> 'nova_host_id')), 255), '') END FROM nodes n WHERE n.id = @node
ON CONFLICT (uuid) DO UPDATE SET node_id = excluded.node_id, service = excluded.service, wanted = 'present',
	created_at = excluded.created_at, absent_since = NULL, confirmed_at = NULL`

	// The claim is repeated. If another service repeats it, the constraint makes it fail.
	claimedSQL = `
UPDATE instances i SET service = CASE WHEN i.service = lower(@service::text) THEN i.service ELSE '' END
 WHERE i.uuid = @uuid AND i.node_id = @node`

	unrecordSQL = `DELETE FROM instances i WHERE i.uuid = @uuid`
)

// novaHost is the key of instance_info in which Nova says who manages an instance.
const novaHost = "nova_host_id"

// queueClaim records to which service an instance belongs that comes to the locked node. had is the
// node's instance_uuid before. service is who claims it, "" if no service does.
func (s *Store) queueClaim(b *pgx.Batch, l *lockedNode, had, service string) {
	named := service != ""
	switch {
	case l.InstanceUUID == "":
		return
	case had == l.InstanceUUID:
		if named {
			b.Queue(claimedSQL, args{"uuid": l.InstanceUUID, "node": l.ID, "service": service})
		}
		return
	case !named:
		service, _ = l.InstanceInfo[novaHost].(string)
		service = words(strings.TrimSpace(service), 255)
	}
	if service == "" {
		b.Queue(unrecordSQL, args{"uuid": l.InstanceUUID}) // of a node that it stood on before
		return
	}
	b.Queue(holdEpochSQL)
	b.Queue(takeSQL, args{
		"uuid": l.InstanceUUID, "node": l.ID, "service": service, "named": named, "lease": micros(s.computeLease),
	})
}

const absentSQL = `
UPDATE instances i SET wanted = 'absent', absent_since = coalesce(i.absent_since, clock_timestamp()) WHERE i.uuid = @uuid`

// MarkAbsent records that an instance is not wanted any more. If a node still has it, that is
// reported, and after a while the node is given back. MarkAbsent returns fault.NotFound if there is
// no record of the instance.
func (s *Store) MarkAbsent(ctx context.Context, uuid string) error {
	n, err := s.changeRows(ctx, "mark instance "+words(uuid, 64)+" absent", absentSQL, args{"uuid": uuid})
	if err == nil && n == 0 {
		err = fault.New(fault.NotFound, "Instance %s could not be found.", words(uuid, 64))
	}
	return err
}

// Rows of many instances are locked in the order of their uuids.
const confirmSQL = `
WITH held AS MATERIALIZED (
	SELECT i.uuid FROM instances i
	 WHERE i.uuid = ANY(@uuids::uuid[]) AND i.service = lower(@host::text) AND i.wanted = 'absent' AND i.confirmed_at IS NULL
	 ORDER BY i.uuid FOR NO KEY UPDATE)
UPDATE instances i SET confirmed_at = clock_timestamp() FROM held
 WHERE i.uuid = held.uuid AND i.service = lower(@host::text) AND i.wanted = 'absent'`

// ConfirmAbsent records that a service knows of instances of its own that they are gone.
func (s *Store) ConfirmAbsent(ctx context.Context, host string, uuids []string) error {
	if len(uuids) == 0 {
		return nil
	}
	_, err := s.exec(ctx, "confirm instances of "+words(host, 255), confirmSQL, args{"uuids": uuids, "host": host})
	return err
}

const instancesSQL = `
SELECT i.uuid::text, coalesce(n.uuid::text, ''), coalesce(i.service, ''), i.wanted = 'absent', i.created_at, i.absent_since, i.confirmed_at,
	coalesce(n.instance_uuid = i.uuid, false)
  FROM instances i JOIN nodes n ON n.id = i.node_id
 WHERE (@service::text = '' OR i.service = lower(@service::text)) AND (NOT @absent::boolean OR i.wanted = 'absent')
   AND i.uuid > coalesce(nullif(@marker::text, '')::uuid, '00000000-0000-0000-0000-000000000000')
 ORDER BY i.uuid LIMIT @limit`

// Instances is a page of the recorded instances, by uuid; service "" = of all.
func (s *Store) Instances(ctx context.Context, f share.InstanceFilter) ([]share.Instance, error) {
	a := args{"service": f.Service, "absent": f.Absent, "marker": f.Marker, "limit": pageLimit(f.Limit)}
	return list(ctx, s, "list instances", instancesSQL, a, func(r pgx.Row) (i share.Instance, err error) {
		return i, r.Scan(&i.UUID, &i.Node, &i.Service, &i.Absent, &i.CreatedAt, &i.AbsentSince, &i.ConfirmedAt, &i.Standing)
	})
}

// A node that no conductor covers is left for later, except where nothing has to be done to its hardware
// and only the instance_uuid is removed.
const orphansSQL = `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
SELECT i.uuid::text, n.uuid::text FROM instances i JOIN nodes n ON instance_stands(i, n)
 WHERE i.wanted = 'absent' AND (i.confirmed_at IS NOT NULL OR i.absent_since < clock_timestamp() - @age * interval '1 microsecond')
   AND NOT n.maintenance AND n.fault IS NULL AND NOT n.protected
   AND (n.provision_state IN ('available', 'manageable', 'enroll') OR n.need_id NOT IN (SELECT x.id FROM coverage x WHERE x.quarantined))
   AND NOT EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)
 ORDER BY i.absent_since LIMIT @limit`

// What is swept is looked at again under its lock, in a statement that sees the
// nodes as they are then: whoever takes the instance elsewhere writes both.
const (
	toSweepSQL = `
SELECT i.uuid::text FROM instances i WHERE NOT EXISTS (SELECT FROM nodes n WHERE instance_stands(i, n))
 ORDER BY i.uuid LIMIT @limit FOR UPDATE SKIP LOCKED`
	sweepInstancesSQL = `
DELETE FROM instances i WHERE i.uuid = ANY(@uuids::uuid[]) AND NOT EXISTS (SELECT FROM nodes n WHERE instance_stands(i, n))`
)

// Orphans are nodes whose instance was marked absent longer ago, or whose
// service confirmed it, and that nothing keeps from being given back.
func (s *Store) Orphans(ctx context.Context, olderThan time.Duration, limit int) ([]share.Orphan, error) {
	return list(ctx, s, "list orphaned nodes", orphansSQL, args{"age": micros(olderThan), "limit": limit, "timeout": micros(s.conductorTimeout)}, func(r pgx.Row) (o share.Orphan, err error) {
		return o, r.Scan(&o.Instance, &o.Node)
	})
}

// SweepInstances deletes the records of instances that are on no node any more.
func (s *Store) SweepInstances(ctx context.Context) error {
	var uuids []string
	return s.inTx(ctx, "sweep instances", func(b *pgx.Batch) {
		b.Queue(toSweepSQL, args{"limit": nodeBatch}).Query(collect(&uuids, func(r pgx.Row) (u string, err error) { return u, r.Scan(&u) }))
	}, func(b *pgx.Batch) error {
		if len(uuids) == 0 {
			return errLeave
		}
		b.Queue(sweepInstancesSQL, args{"uuids": uuids})
		return nil
	})
}
