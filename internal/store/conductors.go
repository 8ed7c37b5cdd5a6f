package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const conductorColumns = `
	c.id, c.hostname, c.incarnation, c.conductor_group, c.interfaces, c.started_at, c.heartbeat_at, c.polled_at, c.draining, c.stopped_at, ` + aliveSQL

func scanConductor(r pgx.Row) (c node.Conductor, err error) {
	return c, r.Scan(&c.ID, &c.Hostname, &c.Incarnation, &c.Group, &c.Interfaces, &c.StartedAt, &c.HeartbeatAt, &c.PolledAt, &c.Draining, &c.StoppedAt, &c.Alive)
}

const (
	conductorsSQL = `SELECT ` + conductorColumns + ` FROM conductors c CROSS JOIN witness w ORDER BY c.hostname LIMIT 10000`
	conductorSQL  = `SELECT ` + conductorColumns + ` FROM conductors c CROSS JOIN witness w WHERE c.hostname = @hostname`
)

// Conductors are all that ever registered, by name, dead ones included.
func (s *Store) Conductors(ctx context.Context) ([]node.Conductor, error) {
	return list(ctx, s, "list conductors", conductorsSQL, args{"timeout": micros(s.conductorTimeout)}, scanConductor)
}

// Conductor is the one of that name.
func (s *Store) Conductor(ctx context.Context, hostname string) (*node.Conductor, error) {
	var c node.Conductor
	found, err := s.one(ctx, "read a conductor", conductorSQL, args{"hostname": hostname, "timeout": micros(s.conductorTimeout)}, func(r pgx.Row) (err error) {
		c, err = scanConductor(r)
		return err
	})
	if err == nil && !found {
		err = unknownConductor(hostname)
	}
	if err != nil {
		return nil, err
	}
	return &c, nil
}

const registerSQL = `
WITH died AS MATERIALIZED (SELECT c.hostname FROM conductors c WHERE c.hostname = @hostname AND c.stopped_at IS NULL),
orphans AS (UPDATE operations o SET orphaned = true FROM died WHERE o.conductor = died.hostname AND o.paused AND o.ended_at IS NULL)
INSERT INTO conductors (hostname, incarnation, conductor_group, interfaces)
VALUES (@hostname, nextval('conductor_incarnations'), @group, @interfaces)
ON CONFLICT (hostname) DO UPDATE SET incarnation = excluded.incarnation, conductor_group = excluded.conductor_group,
	interfaces = excluded.interfaces, started_at = excluded.started_at, heartbeat_at = excluded.heartbeat_at,
	polled_at = excluded.polled_at, draining = false, stopped_at = NULL
RETURNING incarnation`

// RegisterConductor gives the name (Hostname, Group, Interfaces) to this
// process; whoever had it before is told so at its next heartbeat, and is dead
// to what is paused, unless it had stopped.
func (s *Store) RegisterConductor(ctx context.Context, c node.Conductor) (incarnation int64, err error) {
	interfaces := c.Interfaces
	if interfaces == nil {
		interfaces = map[string]map[string][]string{}
	}
	var d dicts
	a := args{"hostname": c.Hostname, "group": c.Group, "interfaces": d.of(interfaces)}
	if d.err != nil {
		return 0, d.err
	}
	_, err = s.one(ctx, "register conductor "+c.Hostname, registerSQL, a, func(r pgx.Row) error { return r.Scan(&incarnation) })
	return incarnation, err
}

const (
	// The newest contact of anybody is written once a second, by whoever comes first.
	heartbeatConductorSQL = `
WITH beat AS (
	UPDATE conductors SET heartbeat_at = clock_timestamp(), polled_at = CASE WHEN @contact THEN clock_timestamp() ELSE polled_at END
	 WHERE hostname = @hostname AND incarnation = @incarnation AND stopped_at IS NULL
	RETURNING draining),
contact AS (
	UPDATE witness w SET contact_at = clock_timestamp(),
		contact_from = CASE WHEN w.contact_at NOT BETWEEN clock_timestamp() - ` + gapSQL + ` AND clock_timestamp() + interval '1 second'
			THEN w.contact_at ELSE w.contact_from END,
		contact_until = CASE WHEN w.contact_at NOT BETWEEN clock_timestamp() - ` + gapSQL + ` AND clock_timestamp() + interval '1 second'
			THEN clock_timestamp() ELSE w.contact_until END
	 WHERE @contact AND EXISTS (SELECT FROM beat)
	   AND (w.contact_at IS NULL OR w.contact_at NOT BETWEEN clock_timestamp() - interval '1 second' AND clock_timestamp() + interval '1 second'))
SELECT draining FROM beat`
	drainConductorSQL = `
UPDATE conductors SET draining = true WHERE hostname = @hostname AND incarnation = @incarnation AND stopped_at IS NULL`
	stopConductorSQL = `
UPDATE conductors SET draining = true, stopped_at = coalesce(stopped_at, clock_timestamp())
 WHERE hostname = @hostname AND incarnation = @incarnation`
)

// HeartbeatConductor says that the conductor lives and, where contact is set,
// that it reaches Temporal. It tells whether it is to take no new work;
// fault.Lost when a newer process has its name, or it was stopped.
func (s *Store) HeartbeatConductor(ctx context.Context, hostname string, incarnation int64, contact bool) (draining bool, err error) {
	a := args{"hostname": hostname, "incarnation": incarnation, "contact": contact, "timeout": micros(s.conductorTimeout)}
	found, err := s.one(ctx, "heartbeat of conductor "+hostname, heartbeatConductorSQL, a, func(r pgx.Row) error { return r.Scan(&draining) })
	if err == nil && !found {
		err = outdated(hostname, incarnation)
	}
	return draining, err
}

// DrainConductor says that it takes no new work; fault.Lost as above.
func (s *Store) DrainConductor(ctx context.Context, hostname string, incarnation int64) error {
	return s.conductor(ctx, "drain", drainConductorSQL, hostname, incarnation)
}

// StopConductor says that it is gone; fault.Lost when a newer process has its name.
func (s *Store) StopConductor(ctx context.Context, hostname string, incarnation int64) error {
	return s.conductor(ctx, "stop", stopConductorSQL, hostname, incarnation)
}

func (s *Store) conductor(ctx context.Context, what, sql, hostname string, incarnation int64) error {
	rows, err := s.exec(ctx, what+" conductor "+hostname, sql, args{"hostname": hostname, "incarnation": incarnation})
	if err == nil && rows == 0 {
		err = outdated(hostname, incarnation)
	}
	return err
}

func outdated(hostname string, incarnation int64) error {
	return fault.New(fault.Lost, "conductor %s, incarnation %d, was stopped or has a successor", hostname, incarnation)
}

const coveredSQL = `
SELECT c.hostname, c.incarnation FROM conductors c CROSS JOIN witness w
 WHERE c.conductor_group = @group AND NOT c.draining AND c.interfaces ? @driver AND ` + aliveSQL + `
   AND NOT EXISTS (SELECT FROM jsonb_each_text(@interfaces) AS w (interface, implementation)
	WHERE NOT coalesce(c.interfaces -> @driver -> w.interface, '[]') ? w.implementation)
 ORDER BY c.hostname LIMIT 1000`

// Covered are the names of the conductors that Covering gives.
func (s *Store) Covered(ctx context.Context, group, driver string, interfaces map[string]string) ([]string, error) {
	hosts, err := s.Covering(ctx, group, driver, interfaces)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(hosts))
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	return names, nil
}

// Covering are the live conductors that can work on a node of this group, driver
// and interfaces (interface -> implementation), by name. Draining ones can not.
func (s *Store) Covering(ctx context.Context, group, driver string, interfaces map[string]string) ([]node.Host, error) {
	if interfaces == nil {
		interfaces = map[string]string{}
	}
	var d dicts
	a := args{"group": group, "driver": driver, "interfaces": d.of(interfaces), "timeout": micros(s.conductorTimeout)}
	if d.err != nil {
		return nil, d.err
	}
	return list(ctx, s, "find conductors of "+group+"/"+driver, coveredSQL, a, func(r pgx.Row) (h node.Host, err error) {
		return h, r.Scan(&h.Name, &h.Incarnation)
	})
}
