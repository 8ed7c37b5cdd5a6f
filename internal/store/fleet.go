package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
)

const servedSQL = `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
SELECT v.conductor_group, v.driver, sum(x.n)::bigint, coalesce(sum(x.n) FILTER (WHERE v.quarantined), 0)::bigint
  FROM (SELECT n.need_id, count(*) AS n FROM nodes n GROUP BY n.need_id) AS x JOIN coverage v ON v.id = x.need_id
 GROUP BY 1, 2 ORDER BY 1, 2`

// Served counts the nodes of each conductor group and driver, and those that
// nobody covers now.
func (s *Store) Served(ctx context.Context) ([]coverage.Served, error) {
	return list(ctx, s, "count nodes by group and driver", servedSQL, args{"timeout": micros(s.conductorTimeout)}, func(r pgx.Row) (v coverage.Served, err error) {
		return v, r.Scan(&v.Group, &v.Driver, &v.Nodes, &v.Quarantined)
	})
}

const ownedSQL = `
SELECT c.hostname, count(*) FROM ring_owners w JOIN conductors c ON c.id = w.conductor_id GROUP BY c.hostname`

// Owned counts the nodes that each conductor owns in the newest epoch, by name.
func (s *Store) Owned(ctx context.Context) (map[string]int, error) {
	return s.countByName(ctx, "count nodes by owner", ownedSQL)
}

const (
	// Two that drain at once, the last two of a driver, wait for each other here.
	lockFleetSQL = `SELECT epoch FROM ring_epoch FOR UPDATE`

	oneConductorSQL = conductorSQL + ` FOR UPDATE OF c`

	// onlyOneSQL are the nodes that nobody but this conductor covers.
	onlyOneSQL = `
WITH others AS MATERIALIZED (
	SELECT c.conductor_group, c.interfaces FROM conductors c CROSS JOIN witness w WHERE c.hostname <> @hostname AND conductor_takes_work(c, w, @timeout)),
lone AS MATERIALIZED (
	SELECT d.id FROM needs d JOIN conductors c ON conductor_covers(c.conductor_group, c.interfaces, d)
	 WHERE c.hostname = @hostname AND NOT c.draining
	   AND NOT EXISTS (SELECT FROM others c WHERE conductor_covers(c.conductor_group, c.interfaces, d)))
SELECT count(*), coalesce((array_agg(coalesce(n.name, n.uuid::text) ORDER BY n.id))[1:10], '{}') FROM nodes n WHERE n.need_id IN (SELECT id FROM lone)`

	askDrainSQL        = `UPDATE conductors SET draining = true WHERE hostname = @hostname`
	askUndrainSQL      = `UPDATE conductors SET draining = false WHERE hostname = @hostname`
	forgetConductorSQL = `DELETE FROM conductors WHERE hostname = @hostname`
)

// AskDrain says to a conductor of that name that it is to take no new work; it
// sees that at its next heartbeat. fault.Conflict where it is not alive or,
// without force, is the last that covers some node, naming the first of them.
func (s *Store) AskDrain(ctx context.Context, hostname string, force bool) (*coverage.Conductor, error) {
	var c coverage.Conductor
	var found bool
	var count int
	var names []string
	timeout := micros(s.conductorTimeout)
	err := s.inTx(ctx, "drain conductor "+words(hostname, 255), func(b *pgx.Batch) {
		b.Queue(lockFleetSQL).Exec(func(pgconn.CommandTag) error { return nil })
		s.queueConductor(b, hostname, &c, &found)
		b.Queue(onlyOneSQL, args{"hostname": hostname, "timeout": timeout}).QueryRow(func(r pgx.Row) error { return r.Scan(&count, &names) })
	}, func(b *pgx.Batch) error {
		switch {
		case !found:
			return unknownConductor(hostname)
		case !c.Alive:
			return fault.New(fault.Conflict, "Conductor %s is %s: there is nothing to drain.", hostname, c.State())
		case count > 0 && !force:
			return fault.New(fault.Conflict, "Conductor %s is the last one that covers %d nodes: %s. Drained with force, it leaves them to nobody.",
				hostname, count, someOf(names, count))
		}
		b.Queue(askDrainSQL, args{"hostname": hostname})
		c.Draining = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// AskUndrain takes AskDrain back; the conductor sees that at its next heartbeat. fault.Conflict where
// it is not alive, or where its process stops.
func (s *Store) AskUndrain(ctx context.Context, hostname string) (*coverage.Conductor, error) {
	var c coverage.Conductor
	var found bool
	err := s.inTx(ctx, "undrain conductor "+words(hostname, 255), func(b *pgx.Batch) {
		s.queueConductor(b, hostname, &c, &found)
	}, func(b *pgx.Batch) error {
		switch {
		case !found:
			return unknownConductor(hostname)
		case !c.Alive:
			return fault.New(fault.Conflict, "Conductor %s is %s: once it is started again, it takes work.", hostname, c.State())
		case c.Leaving:
			return fault.New(fault.Conflict, "Conductor %s is being stopped: once it is started again, it takes work.", hostname)
		}
		b.Queue(askUndrainSQL, args{"hostname": hostname})
		c.Draining = false
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &c, nil
}

const workingSQL = `
SELECT o.conductor, count(*) FROM operations o WHERE o.ended_at IS NULL AND NOT o.handed_over AND o.conductor <> '' AND o.phase IN ('running', 'undoing') GROUP BY o.conductor`

// Working counts the steps that each conductor runs now, by name.
func (s *Store) Working(ctx context.Context) (map[string]int, error) {
	return s.countByName(ctx, "count steps by conductor", workingSQL)
}

func (s *Store) countByName(ctx context.Context, what, sql string) (map[string]int, error) {
	out := map[string]int{}
	_, err := list(ctx, s, what, sql, nil, func(r pgx.Row) (struct{}, error) {
		var name string
		var n int
		err := r.Scan(&name, &n)
		out[name] = n
		return struct{}{}, err
	})
	return out, err
}

func someOf(names []string, count int) string {
	if count > len(names) {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), count-len(names))
	}
	return strings.Join(names, ", ")
}

func (s *Store) queueConductor(b *pgx.Batch, hostname string, c *coverage.Conductor, found *bool) {
	a := s.lives()
	a["hostname"] = hostname
	b.Queue(oneConductorSQL, a).QueryRow(maybe(found, func(r pgx.Row) (err error) {
		*c, err = eachConductor()(r)
		return err
	}))
}

// ForgetConductor deletes a conductor that is not alive. It returns fault.Conflict for one that is.
// The operations that it worked on are not affected.
func (s *Store) ForgetConductor(ctx context.Context, hostname string) error {
	var c coverage.Conductor
	var found bool
	return s.inTx(ctx, "forget conductor "+words(hostname, 255), func(b *pgx.Batch) {
		s.queueConductor(b, hostname, &c, &found)
	}, func(b *pgx.Batch) error {
		switch {
		case !found:
			return unknownConductor(hostname)
		case c.Alive:
			return fault.New(fault.Conflict, "Conductor %s is alive. Stop it first: what is alive is not forgotten.", hostname)
		}
		b.Queue(forgetConductorSQL, args{"hostname": hostname})
		return nil
	})
}

func unknownConductor(hostname string) error {
	return fault.Coded(fault.ConductorNotFound, "Conductor %s could not be found.", words(hostname, 255))
}
