package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Clocks of conductors are not asked: a heartbeat's age is by the database's.
const aliveSQL = `(c.stopped_at IS NULL AND c.heartbeat_at > clock_timestamp() - @timeout * interval '1 microsecond')`

const conductorColumns = `
	c.id, c.hostname, c.incarnation, c.conductor_group, c.interfaces, c.started_at, c.heartbeat_at, c.draining, c.stopped_at, ` + aliveSQL

func scanConductor(r pgx.Row) (c node.Conductor, err error) {
	return c, r.Scan(&c.ID, &c.Hostname, &c.Incarnation, &c.Group, &c.Interfaces, &c.StartedAt, &c.HeartbeatAt, &c.Draining, &c.StoppedAt, &c.Alive)
}

const (
	conductorsSQL = `SELECT ` + conductorColumns + ` FROM conductors c ORDER BY c.hostname LIMIT 10000`
	conductorSQL  = `SELECT ` + conductorColumns + ` FROM conductors c WHERE c.hostname = @hostname`
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
		err = fault.New(fault.NotFound, "Conductor %s could not be found.", words(hostname, 255))
	}
	if err != nil {
		return nil, err
	}
	return &c, nil
}

const registerSQL = `
INSERT INTO conductors (hostname, incarnation, conductor_group, interfaces)
VALUES (@hostname, nextval('conductor_incarnations'), @group, @interfaces)
ON CONFLICT (hostname) DO UPDATE SET incarnation = excluded.incarnation, conductor_group = excluded.conductor_group,
	interfaces = excluded.interfaces, started_at = excluded.started_at, heartbeat_at = excluded.heartbeat_at,
	draining = false, stopped_at = NULL
RETURNING incarnation`

// RegisterConductor gives the name (Hostname, Group, Interfaces) to this
// process; whoever had it before is told so at its next heartbeat.
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
	heartbeatConductorSQL = `
UPDATE conductors SET heartbeat_at = clock_timestamp() WHERE hostname = @hostname AND incarnation = @incarnation AND stopped_at IS NULL`
	drainConductorSQL = `
UPDATE conductors SET draining = true WHERE hostname = @hostname AND incarnation = @incarnation AND stopped_at IS NULL`
	stopConductorSQL = `
UPDATE conductors SET draining = true, stopped_at = coalesce(stopped_at, clock_timestamp())
 WHERE hostname = @hostname AND incarnation = @incarnation`
)

// HeartbeatConductor says that the conductor lives; fault.Lost when a newer
// process has its name, or it was stopped.
func (s *Store) HeartbeatConductor(ctx context.Context, hostname string, incarnation int64) error {
	return s.conductor(ctx, "heartbeat of", heartbeatConductorSQL, hostname, incarnation)
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
		err = fault.New(fault.Lost, "conductor %s, incarnation %d, was stopped or has a successor", hostname, incarnation)
	}
	return err
}

const coveredSQL = `
SELECT c.hostname FROM conductors c
 WHERE c.conductor_group = @group AND NOT c.draining AND c.interfaces ? @driver AND ` + aliveSQL + `
   AND NOT EXISTS (SELECT FROM jsonb_each_text(@interfaces) AS w (interface, implementation)
	WHERE NOT coalesce(c.interfaces -> @driver -> w.interface, '[]') ? w.implementation)
 ORDER BY c.hostname LIMIT 1000`

// Covered are the live conductors that can work on a node of this group, driver
// and interfaces (interface -> implementation). Draining ones can not.
func (s *Store) Covered(ctx context.Context, group, driver string, interfaces map[string]string) ([]string, error) {
	if interfaces == nil {
		interfaces = map[string]string{}
	}
	var d dicts
	a := args{"group": group, "driver": driver, "interfaces": d.of(interfaces), "timeout": micros(s.conductorTimeout)}
	if d.err != nil {
		return nil, d.err
	}
	return list(ctx, s, "find conductors of "+group+"/"+driver, coveredSQL, a, func(r pgx.Row) (h string, err error) { return h, r.Scan(&h) })
}
