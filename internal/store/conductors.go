package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// conductorTable is read only.
var conductorTable = newTable(
	number("id", func(c *coverage.Conductor) *int64 { return &c.ID }),
	text("hostname", func(c *coverage.Conductor) *string { return &c.Hostname }),
	number("incarnation", func(c *coverage.Conductor) *int64 { return &c.Incarnation }),
	text("conductor_group", func(c *coverage.Conductor) *string { return &c.Group }),
	column[coverage.Conductor]{name: "interfaces", into: func(c *coverage.Conductor) any {
		return decodedInto[map[string]map[string][]string]{conductorInterfaces, &c.Interfaces}
	}},
	instant("started_at", func(c *coverage.Conductor) *time.Time { return &c.StartedAt }),
	instant("heartbeat_at", func(c *coverage.Conductor) *time.Time { return &c.HeartbeatAt }),
	instant("polled_at", func(c *coverage.Conductor) *time.Time { return &c.PolledAt }),
	flag("draining", func(c *coverage.Conductor) *bool { return &c.Draining }),
	flag("leaving", func(c *coverage.Conductor) *bool { return &c.Leaving }),
	optional("stopped_at", "", func(c *coverage.Conductor) **time.Time { return &c.StoppedAt }),
)

// eachConductor returns a scan of rows of selectConductors.
func eachConductor() func(pgx.Row) (coverage.Conductor, error) {
	var alive, late bool
	scan := eachRow(conductorTable, &alive, &late)
	return func(r pgx.Row) (coverage.Conductor, error) {
		c, err := scan(r)
		c.Alive, c.Late = alive, late
		return c, err
	}
}

const (
	// selectConductors are the conductors as eachConductor reads them.
	selectConductors = `SELECT c.*, conductor_alive(c, w, @timeout), conductor_late(c, w, @timeout, @late) FROM conductors c CROSS JOIN witness w`

	conductorsSQL = selectConductors + ` ORDER BY c.hostname LIMIT 10000`
	conductorSQL  = selectConductors + ` WHERE c.hostname = @hostname`
)

// conductorInterfaces are interfaces of conductors, most of which have the same. Each GET of a node reads them.
var conductorInterfaces = &decodedOnce[map[string]map[string][]string]{}

// lives are the arguments of the rules that say who is alive, and whose heartbeat is overdue.
func (s *Store) lives() args {
	return args{"timeout": micros(s.conductorTimeout), "late": micros(2 * s.conductorInterval)}
}

// Conductors are all that ever registered, by name, dead ones included.
func (s *Store) Conductors(ctx context.Context) ([]coverage.Conductor, error) {
	return list(ctx, s, "list conductors", conductorsSQL, s.lives(), eachConductor())
}

// Conductor is the one of that name.
func (s *Store) Conductor(ctx context.Context, hostname string) (*coverage.Conductor, error) {
	var c coverage.Conductor
	a := s.lives()
	a["hostname"] = hostname
	found, err := s.one(ctx, "read a conductor", conductorSQL, a, func(r pgx.Row) (err error) {
		c, err = eachConductor()(r)
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

// RegisterConductor gives the name Hostname to this process, which has this Group and these
// Interfaces, and returns the number of the process. The process that had the name before gets
// fault.Lost at its next heartbeat. If it had not stopped, it counts as dead: its paused
// operations are marked as orphaned, and its claims of which nothing has come as lost.
func (s *Store) RegisterConductor(ctx context.Context, c coverage.Conductor) (incarnation int64, err error) {
	interfaces := make(map[string]map[string][]string, len(c.Interfaces))
	for driver, enabled := range c.Interfaces {
		if enabled == nil { // JSON's null contains nothing, not even no interfaces (conductor_covers)
			enabled = map[string][]string{}
		}
		interfaces[driver] = enabled
	}
	var d dicts
	a := args{"hostname": c.Hostname, "group": c.Group, "interfaces": d.of(interfaces), "contact": true, "timeout": micros(s.conductorTimeout), "kept": keptOutages}
	if d.err != nil {
		return 0, d.err
	}
	_, err = s.one(ctx, "register conductor "+c.Hostname, registerSQL, a, func(r pgx.Row) error { return r.Scan(&incarnation) })
	return incarnation, err
}

const (
	heartbeatConductorSQL = `
WITH beat AS (
	UPDATE conductors SET heartbeat_at = clock_timestamp(), polled_at = CASE WHEN @contact THEN clock_timestamp() ELSE polled_at END
	 WHERE hostname = @hostname AND incarnation = @incarnation AND stopped_at IS NULL
	RETURNING draining),` + contactSQL + `
SELECT draining FROM beat`
	drainConductorSQL = `
UPDATE conductors SET draining = true, leaving = true WHERE hostname = @hostname AND incarnation = @incarnation AND stopped_at IS NULL`
	stopConductorSQL = `
UPDATE conductors SET draining = true, stopped_at = coalesce(stopped_at, clock_timestamp())
 WHERE hostname = @hostname AND incarnation = @incarnation`
)

// HeartbeatConductor says that the conductor lives and, where contact is set,
// that it reaches Temporal. It tells whether it is to take no new work;
// fault.Lost when a newer process has its name, or it was stopped.
func (s *Store) HeartbeatConductor(ctx context.Context, hostname string, incarnation int64, contact bool) (draining bool, err error) {
	a := args{"hostname": hostname, "incarnation": incarnation, "contact": contact, "timeout": micros(s.conductorTimeout), "kept": keptOutages}
	found, err := s.one(ctx, "heartbeat of conductor "+hostname, heartbeatConductorSQL, a, func(r pgx.Row) error { return r.Scan(&draining) })
	if err == nil && !found {
		err = outdated(hostname, incarnation)
	}
	return draining, err
}

// DrainConductor says that it takes no new work, because its process stops; fault.Lost as above.
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

const coveringSQL = `
SELECT c.hostname, c.incarnation FROM nodes n JOIN needs d ON d.id = n.need_id JOIN conductors c ON conductor_covers(c.conductor_group, c.interfaces, d) CROSS JOIN witness w
 WHERE n.uuid = @node AND conductor_takes_work(c, w, @timeout) ORDER BY c.hostname LIMIT 1000`

// Covering returns the conductors that cover the node now, by name; none for a node
// that is not there.
func (s *Store) Covering(ctx context.Context, nodeUUID string) ([]node.Host, error) {
	a := args{"node": nodeUUID, "timeout": micros(s.conductorTimeout)}
	return list(ctx, s, "find conductors of node "+words(nodeUUID, 64), coveringSQL, a, func(r pgx.Row) (h node.Host, err error) {
		return h, r.Scan(&h.Name, &h.Incarnation)
	})
}
