package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// ComputeLease is how long a compute service holds its share after a heartbeat, by the clock of the
// database. The service itself stops showing nodes after two thirds of it, by its own clock, so
// that it never shows a node that another service has got.
const ComputeLease = 15 * time.Second

// serviceTable has the columns of compute_services. They are written by the statements of this file.
var serviceTable = newTable(
	number("id", func(v *share.Service) *int64 { return &v.ID }),
	text("host", func(v *share.Service) *string { return &v.Host }),
	unread[share.Service]("name"), // it is host in lower case
	number("incarnation", func(v *share.Service) *int64 { return &v.Incarnation }),
	optional("partition_key", "", func(v *share.Service) **string { return &v.Key }),
	other("peer_list", func(v *share.Service) *[]string { return &v.Peers }, nil),
	text("settings_error", func(v *share.Service) *string { return &v.SettingsError }),
	number("acknowledged_epoch", func(v *share.Service) *int64 { return &v.Acknowledged }),
	unread[share.Service]("registered_by"),
	instant("registered_at", func(v *share.Service) *time.Time { return &v.RegisteredAt }),
	instant("seen_at", func(v *share.Service) *time.Time { return &v.SeenAt }),
	instant("lease_until", func(v *share.Service) *time.Time { return &v.LeaseUntil }),
	unread[share.Service]("quiet_until"),
)

// eachService returns a scan of rows of compute services (v.*), whether an earlier process may
// still publish, whether the lease has not ended, and more.
func eachService(more ...any) func(pgx.Row) (share.Service, error) {
	var quiet, live bool
	scan := eachRow(serviceTable, append([]any{&quiet, &live}, more...)...)
	return func(r pgx.Row) (share.Service, error) {
		v, err := scan(r)
		v.Quiet, v.Live = quiet, live
		return v, err
	}
}

const servicesSQL = `SELECT v.*, coalesce(v.quiet_until > clock_timestamp(), false), compute_live(v, @lease) FROM compute_services v ORDER BY v.name LIMIT 10000`

// ComputeServices returns all compute services that are registered, live and dead, ordered by name.
func (s *Store) ComputeServices(ctx context.Context) ([]share.Service, error) {
	return list(ctx, s, "list compute services", servicesSQL, s.leaseArgs(), eachService())
}

func (s *Store) leaseArgs() args { return args{"lease": micros(s.computeLease)} }

const (
	// beatSQL writes a heartbeat that changes nothing but the lease. It finds no row for any other heartbeat, which then
	// locks the row of the epoch first (registerCompute).
	beatSQL = `
UPDATE compute_services v SET seen_at = clock_timestamp(), lease_until = clock_timestamp() + @lease::bigint * interval '1 microsecond',
	acknowledged_epoch = greatest(v.acknowledged_epoch, @ack::bigint), settings_error = @settings_error
  FROM share_epoch e
 WHERE v.name = lower(@host::text) AND @incarnation::bigint IN (0, v.incarnation) AND compute_live(v, @lease) AND @ack::bigint <= e.epoch
   AND v.partition_key IS NOT DISTINCT FROM @key::text AND v.peer_list IS NOT DISTINCT FROM @peers::text[]
RETURNING v.*, coalesce(v.quiet_until > clock_timestamp(), false), compute_live(v, @lease), e.epoch, CASE WHEN e.published < e.revision THEN e.revision ELSE 0 END`

	// lockShareEpochSQL locks the row of the epoch. All transactions lock it before the row of a service, so that none of them
	// decides something from a row that another one is changing, and none waits for another in a circle.
	lockShareEpochSQL = `SELECT epoch FROM share_epoch FOR NO KEY UPDATE`
	lockServiceSQL    = `SELECT v.*, coalesce(v.quiet_until > clock_timestamp(), false), compute_live(v, @lease) FROM compute_services v WHERE v.name = lower(@host::text) FOR NO KEY UPDATE`

	// registerServiceSQL writes the row of a service. If another live process had the name, that process may still show its
	// nodes until its lease has ended. quiet_until is when this is over at the latest.
	registerServiceSQL = `
INSERT INTO compute_services AS v (host, incarnation, partition_key, peer_list, settings_error, registered_by, lease_until)
VALUES (@host, @incarnation::bigint, @key, @peers::text[], @settings_error, @by, clock_timestamp() + @lease::bigint * interval '1 microsecond')
ON CONFLICT (name) DO UPDATE SET
	host = excluded.host, incarnation = excluded.incarnation, partition_key = excluded.partition_key, peer_list = excluded.peer_list,
	settings_error = excluded.settings_error, lease_until = excluded.lease_until, seen_at = clock_timestamp(),
	registered_by = CASE WHEN v.registered_by = '' THEN excluded.registered_by ELSE v.registered_by END,
	registered_at = CASE WHEN @again::boolean THEN v.registered_at ELSE clock_timestamp() END,
	acknowledged_epoch = CASE WHEN @again::boolean THEN greatest(v.acknowledged_epoch, @ack::bigint) ELSE 0 END,
	quiet_until = CASE WHEN @again::boolean THEN v.quiet_until WHEN compute_live(v, @lease) AND v.incarnation <> excluded.incarnation THEN excluded.lease_until END
RETURNING v.*, coalesce(v.quiet_until > clock_timestamp(), false), compute_live(v, @lease)`

	raiseRevisionSQL = `UPDATE share_epoch SET revision = revision + 1 RETURNING epoch, revision`
)

// ComputeHeartbeat registers a compute service, or renews its lease. If something has changed for
// which a new epoch is needed, it returns the revision that the epoch has to follow (PublishShares);
// otherwise revision is 0. It returns fault.Conflict if a newer process has the name, or if the
// service acknowledges an epoch that was never published.
func (s *Store) ComputeHeartbeat(ctx context.Context, h share.Heartbeat) (v share.Service, epoch, revision int64, err error) {
	a := args{
		"host": h.Host, "incarnation": h.Incarnation, "key": h.Key, "peers": h.Peers, "ack": h.Acknowledged,
		"settings_error": words(h.SettingsError, maxError), "lease": micros(s.computeLease),
	}
	found, err := s.one(ctx, "heartbeat of compute service "+h.Host, beatSQL, a, func(r pgx.Row) (err error) {
		v, err = eachService(&epoch, &revision)(r)
		return err
	})
	if err != nil || found {
		return v, epoch, revision, err // revision is above 0 if whoever was to publish an epoch has failed
	}
	return s.registerCompute(ctx, h, a)
}

const computeUserSQL = `SELECT v.registered_by FROM compute_services v WHERE v.name = lower(@host::text)`

// ComputeUser returns the user who speaks for a compute service: who registered it first; "" = the service is unknown, or was registered under noauth.
func (s *Store) ComputeUser(ctx context.Context, host string) (user string, err error) {
	_, err = s.one(ctx, "read who speaks for compute service "+words(host, 64), computeUserSQL, args{"host": host}, func(r pgx.Row) error { return r.Scan(&user) })
	return user, err
}

func (s *Store) registerCompute(ctx context.Context, h share.Heartbeat, a args) (v share.Service, epoch, revision int64, err error) {
	var had share.Service
	var known bool
	err = s.inTx(ctx, "register compute service "+h.Host, func(b *pgx.Batch) {
		b.Queue(lockShareEpochSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&epoch) })
		b.Queue(lockServiceSQL, args{"host": h.Host, "lease": a["lease"]}).QueryRow(maybe(&known, func(r pgx.Row) (err error) {
			had, err = eachService()(r)
			return err
		}))
	}, func(b *pgx.Batch) error {
		if h.Incarnation == 0 { // it speaks for the process that has the name
			h.Incarnation = max(had.Incarnation, 1)
			a["incarnation"] = h.Incarnation
		}
		switch {
		case known && had.Incarnation > h.Incarnation:
			return fault.New(fault.Conflict, "Compute service %s was started again: incarnation %d holds the name, not %d.", h.Host, had.Incarnation, h.Incarnation)
		case h.Acknowledged > epoch:
			return fault.New(fault.Conflict, "Compute service %s acknowledges epoch %d; the newest is %d.", h.Host, h.Acknowledged, epoch)
		}
		a["again"] = known && had.Live && had.Incarnation == h.Incarnation // only its settings are new
		a["by"] = words(h.By, 255)
		b.Queue(registerServiceSQL, a).QueryRow(func(r pgx.Row) (err error) {
			v, err = eachService()(r)
			return err
		})
		b.Queue(raiseRevisionSQL).QueryRow(func(r pgx.Row) error { return r.Scan(&epoch, &revision) })
		return nil
	})
	return v, epoch, revision, err
}

// stopServiceSQL ends the lease of a process. If an earlier process of the name may still show its
// nodes, the lease lasts until that is over (quiet_until).
const stopServiceSQL = `
UPDATE compute_services v SET lease_until = greatest(clock_timestamp(), v.quiet_until), seen_at = clock_timestamp()
 WHERE v.name = lower(@host::text) AND @incarnation::bigint IN (0, v.incarnation) AND compute_live(v, @lease)`

// StopCompute ends the lease of a service that publishes nothing any more.
func (s *Store) StopCompute(ctx context.Context, host string, incarnation int64) error {
	_, err := s.changeRows(ctx, "stop compute service "+host, stopServiceSQL, args{"host": host, "incarnation": incarnation, "lease": micros(s.computeLease)})
	return err
}

const (
	hasLiveSQL       = `SELECT compute_live(v, @lease) FROM compute_services v WHERE v.name = lower(@host::text) FOR NO KEY UPDATE`
	forgetServiceSQL = `DELETE FROM compute_services v WHERE v.name = lower(@host::text)`
)

// ForgetCompute deletes the row of a dead service, and returns the revision as ComputeHeartbeat does.
// It returns fault.Conflict while the service is live.
func (s *Store) ForgetCompute(ctx context.Context, host string) (revision int64, err error) {
	var known, live bool
	a := args{"host": host}
	err = s.inTx(ctx, "forget compute service "+words(host, 255), func(b *pgx.Batch) {
		b.Queue(lockShareEpochSQL).QueryRow(func(r pgx.Row) error { return r.Scan(nil) })
		b.Queue(hasLiveSQL, args{"host": host, "lease": micros(s.computeLease)}).QueryRow(maybe(&known, func(r pgx.Row) error { return r.Scan(&live) }))
	}, func(b *pgx.Batch) error {
		switch {
		case !known:
			return NoCompute(host)
		case live:
			return s.stillLive(host)
		}
		b.Queue(forgetServiceSQL, a)
		b.Queue(raiseRevisionSQL).QueryRow(func(r pgx.Row) error { return r.Scan(nil, &revision) })
		return nil
	})
	return revision, err
}

// NoCompute returns the error for a service that is not registered.
func NoCompute(host string) error {
	return fault.New(fault.NotFound, "Compute service %s could not be found.", words(host, 255))
}

func (s *Store) stillLive(host string) error {
	return fault.New(fault.Conflict, "Compute service %s is live: stop it first, its lease ends %s after its last heartbeat.", words(host, 255), s.computeLease)
}

const (
	knowsNodeSQL = `SELECT true FROM nodes n WHERE n.uuid::text = @node::text OR n.name = @node::text`

	// moveSQL writes the new service into the records of instances. An instance that somebody has set by hand has no record,
	// and gets one.
	moveSQL = `
INSERT INTO instances AS i (uuid, node_id, service)
SELECT n.instance_uuid, n.id, lower(@to::text) FROM nodes n LEFT JOIN instances have ON have.uuid = n.instance_uuid AND have.node_id = n.id
 WHERE n.instance_uuid IS NOT NULL AND coalesce(have.service, '') = lower(@from::text)
   AND (@node::text = '' OR n.uuid::text = @node::text OR n.name = @node::text)
 ORDER BY n.instance_uuid
ON CONFLICT (uuid) DO UPDATE SET service = excluded.service`
)

// MoveCompute gives the instances of the service from to the service to. Their nodes follow with the
// next epoch. An empty from stands for the instances without a service. ident names the node whose
// instance is moved; an empty one stands for all nodes. MoveCompute returns fault.Conflict if from is
// live, because it would go on managing the instances, or if to is not, because nobody would.
func (s *Store) MoveCompute(ctx context.Context, from, to, ident string) (moved int, revision int64, err error) {
	var known, lives, dead, live, found bool
	if share.Fold(from) == share.Fold(to) {
		return 0, 0, fault.New(fault.Invalid, "Instances can not be moved from %s to %s: that is one and the same.", words(from, 255), words(to, 255))
	}
	err = s.inTx(ctx, fmt.Sprintf("move instances of %q to %q", words(from, 255), words(to, 255)), func(b *pgx.Batch) {
		b.Queue(lockShareEpochSQL).QueryRow(func(r pgx.Row) error { return r.Scan(nil) })
		b.Queue(hasLiveSQL, args{"host": to, "lease": micros(s.computeLease)}).QueryRow(maybe(&known, func(r pgx.Row) error { return r.Scan(&lives) }))
		b.Queue(knowsNodeSQL, args{"node": ident}).QueryRow(maybe(&found, func(r pgx.Row) error { return r.Scan(nil) }))
		b.Queue(hasLiveSQL, args{"host": from, "lease": micros(s.computeLease)}).QueryRow(maybe(&dead, func(r pgx.Row) error { return r.Scan(&live) }))
	}, func(b *pgx.Batch) error {
		switch {
		case !known:
			return NoCompute(to)
		case live:
			return s.stillLive(from)
		case !lives:
			return fault.New(fault.Conflict, "Compute service %s is dead: start it first, or name a live one.", words(to, 255))
		case ident != "" && !found:
			return node.NotFound(ident)
		}
		b.Queue(moveSQL, args{"from": from, "to": to, "node": ident}).Exec(countInto(&moved))
		b.Queue(raiseRevisionSQL).QueryRow(func(r pgx.Row) error { return r.Scan(nil, &revision) })
		return nil
	})
	return moved, revision, err
}
