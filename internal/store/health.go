package store

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/coverage"
)

// maxProcesses bounds the processes that FleetHealth returns.
const maxProcesses = 1000

const fleetHealthSQL = `
SELECT e.epoch, (extract(epoch FROM clock_timestamp() - e.reconciled_at) * 1000000)::bigint,
	(extract(epoch FROM outage_time(e.reconciled_at, @timeout)) * 1000000)::bigint, (extract(epoch FROM clock_timestamp() - w.contact_at) * 1000000)::bigint,
	(SELECT jsonb_agg(x) FROM (
		SELECT v.stopped, v.alive, v.draining, count(*) AS n, (array_agg(v.hostname ORDER BY v.hostname))[1:@named] AS names,
			(array_agg(v.conductor_group ORDER BY v.hostname))[1] AS first_group,
			(SELECT string_agg(k, ',' ORDER BY k) FROM jsonb_object_keys((array_agg(v.interfaces ORDER BY v.hostname))[1]) AS k) AS first_drivers,
			(extract(epoch FROM clock_timestamp() - min(v.heartbeat_at)) * 1000000)::bigint AS silent,
			(extract(epoch FROM clock_timestamp() - max(v.heartbeat_at)) * 1000000)::bigint AS last, count(*) FILTER (WHERE v.late) AS late,
			(array_agg(jsonb_build_object('name', v.hostname, 'silent', (extract(epoch FROM clock_timestamp() - v.heartbeat_at) * 1000000)::bigint)
				ORDER BY v.hostname) FILTER (WHERE v.late))[1:@named] AS who
		  FROM (SELECT c.hostname, c.conductor_group, c.interfaces, c.heartbeat_at, c.draining, c.stopped_at IS NOT NULL AS stopped, conductor_alive(c, w, @timeout) AS alive,
			conductor_late(c, w, @timeout, @late) AS late FROM conductors c) AS v
		 GROUP BY 1, 2, 3) AS x),
	(SELECT jsonb_agg(x) FROM (
		SELECT p.role, p.name, p.version, p.started_at, process_alive(p, w, @timeout) AS alive,
			(extract(epoch FROM clock_timestamp() - p.seen_at) * 1000000)::bigint AS silent,
			(extract(epoch FROM p.clock_ahead) * 1000000)::bigint AS ahead, (extract(epoch FROM p.clock_error) * 1000000)::bigint AS error
		  FROM processes p ORDER BY p.role, p.name LIMIT @limit) AS x)
  FROM ring_epoch e CROSS JOIN witness w`

// FleetHealth returns the epoch of the ring, the time since a reconciliation ended, how many
// conductors are in each state, and the processes of Temper. It reads a row for each conductor and
// process, and may be called often.
func (s *Store) FleetHealth(ctx context.Context) (v coverage.Health, err error) {
	var reconciled, outage, contact *int64
	var alike []struct { // conductors
		Stopped, Alive, Draining bool
		N                        int
		Names                    []string
		FirstGroup               string `json:"first_group"`
		FirstDrivers             string `json:"first_drivers"`
		Silent, Last             int64
		Late                     int
		Who                      []struct {
			Name   string
			Silent int64
		}
	}
	var processes []struct {
		Role, Name, Version string
		StartedAt           time.Time `json:"started_at"`
		Alive               bool
		Silent              int64
		Ahead, Error        *int64
	}
	a := s.lives()
	a["named"], a["limit"] = coverage.MaxDead, maxProcesses
	_, err = s.one(ctx, "read how the fleet is", fleetHealthSQL, a, func(r pgx.Row) error {
		return r.Scan(&v.Epoch, &reconciled, &outage, &contact, &alike, &processes)
	})
	v.Conductors, v.DeadAfter = map[string]int{}, s.conductorTimeout
	for _, c := range alike {
		state := coverage.StateOf(c.Stopped, c.Alive, c.Draining)
		v.Conductors[state] += c.N
		v.LateCount += c.Late
		for _, one := range c.Who {
			v.Late = append(v.Late, coverage.Late{Name: one.Name, Silent: fromMicros(one.Silent)})
		}
		if state == coverage.StateDead {
			if len(v.Dead) == 0 {
				v.DeadGroup, v.DeadDrivers = c.FirstGroup, c.FirstDrivers
			}
			v.Dead = append(v.Dead, c.Names...)
			v.DeadFor, v.LastDead = fromMicros(c.Silent), fromMicros(c.Last)
		}
	}
	v.Late = v.Late[:min(len(v.Late), coverage.MaxDead)]
	v.Dead = v.Dead[:min(len(v.Dead), coverage.MaxDead)]
	v.Age, v.Contact = orNever(reconciled), orNever(contact)
	if outage != nil {
		v.Outage = fromMicros(*outage)
	}
	for _, p := range processes {
		one := coverage.Process{Role: coverage.Role(p.Role), Name: p.Name, Version: p.Version, StartedAt: p.StartedAt, Alive: p.Alive, Silent: fromMicros(p.Silent)}
		if p.Ahead != nil && p.Error != nil {
			ahead := fromMicros(*p.Ahead)
			one.Ahead, one.Error = &ahead, fromMicros(*p.Error)
		}
		v.Processes = append(v.Processes, one)
	}
	return v, err
}

func fromMicros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// orNever is a duration below zero for one that is not there.
func orNever(n *int64) time.Duration {
	if n == nil {
		return -1
	}
	return fromMicros(*n)
}

// Answers is Ready, and returns the version of PostgreSQL.
func (s *Store) Answers(ctx context.Context) (version string, err error) {
	if err := s.Ready(ctx); err != nil {
		return "", err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return "", mapError("read the version of PostgreSQL", err)
	}
	defer conn.Release()
	version, _, _ = strings.Cut(conn.Conn().PgConn().ParameterStatus("server_version"), " ") // what follows names a package
	return version, nil
}

// Address returns where PostgreSQL is, as host:port or the folder of its socket, without credentials.
func (s *Store) Address() string {
	c := s.pool.Config().ConnConfig
	if strings.HasPrefix(c.Host, "/") {
		return c.Host
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}
