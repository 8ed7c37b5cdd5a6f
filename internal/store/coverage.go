package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// sinceSQL is since when nobody covers need d: as reconciliation noted it or,
// until it has, the last sign of life of one that did; null = there never was one.
const sinceSQL = `coalesce(d.lost_at, (
	SELECT max(coalesce(c.stopped_at, c.heartbeat_at)) FROM conductors c
	 WHERE c.conductor_group = d.conductor_group AND c.interfaces @> d.wants))`

// drainingSQL names some of those who would cover need d and drain; null = nobody does.
const drainingSQL = `(
	SELECT array_agg(x.hostname ORDER BY x.hostname) FROM (SELECT c.hostname FROM conductors c CROSS JOIN witness w
		WHERE c.draining AND c.conductor_group = d.conductor_group AND c.interfaces @> d.wants AND ` + aliveSQL + ` ORDER BY c.hostname LIMIT 3) x)`

// withCoverageSQL is coverage, of all needs, for a statement that reads many
// nodes. Quarantined are the needs that nobody covers, and those that are held:
// they were lost too often lately.
var withCoverageSQL = coverageBy(aliveSQL)

// coverageBy is coverage by conductors c that are alive in this sense. Those of
// a group are mostly alike.
func coverageBy(alive string) string {
	return `
WITH live AS MATERIALIZED (
	SELECT DISTINCT c.conductor_group, c.interfaces FROM conductors c CROSS JOIN witness w WHERE NOT c.draining AND ` + alive + `),
covered AS MATERIALIZED (
	SELECT d.id FROM needs d
	 WHERE EXISTS (SELECT FROM live l WHERE l.conductor_group = d.conductor_group AND l.interfaces @> d.wants)),
coverage AS MATERIALIZED (
	SELECT d.id, d.conductor_group, d.driver, d.held, k.id IS NOT NULL AS covered, k.id IS NULL OR d.held AS quarantined,
		CASE WHEN k.id IS NULL OR d.held THEN ` + sinceSQL + ` END AS since, CASE WHEN k.id IS NULL THEN ` + drainingSQL + ` END AS draining
	  FROM needs d LEFT JOIN covered k ON k.id = d.id)
`
}

// Node n is in quarantine, or is not, in a statement withCoverageSQL. The first
// form lets the few that are come from an index, the second is a look into a
// hashed set for each row that an index gives in order.
const (
	quarantinedSQL = `n.need_id = ANY (ARRAY(SELECT x.id FROM coverage x WHERE x.quarantined))`
	servableSQL    = `n.need_id NOT IN (SELECT x.id FROM coverage x WHERE x.quarantined)`
)

const (
	// quarantineJoin is coverage v of one node n.
	quarantineJoin = `
	JOIN LATERAL (
		SELECT d.held, y.covered, NOT y.covered OR d.held AS quarantined, CASE WHEN NOT y.covered OR d.held THEN ` + sinceSQL + ` END AS since,
			CASE WHEN NOT y.covered THEN ` + drainingSQL + ` END AS draining
		  FROM needs d CROSS JOIN LATERAL (SELECT EXISTS (
			SELECT FROM conductors c CROSS JOIN witness w
			 WHERE c.conductor_group = d.conductor_group AND c.interfaces @> d.wants AND NOT c.draining AND ` + aliveSQL + `) AS covered) y
		 WHERE d.id = n.need_id) v ON true`

	// quarantineColumns are of coverage v of a node.
	quarantineColumns = `, v.quarantined, v.held AND v.covered, v.since, v.draining`
)

// quarantineRow is quarantineColumns.
type quarantineRow struct {
	quarantined, held bool
	since             *time.Time
	draining          []string
}

func (q *quarantineRow) into() []any { return []any{&q.quarantined, &q.held, &q.since, &q.draining} }

func (q *quarantineRow) quarantine() *node.Quarantine {
	if !q.quarantined {
		return nil
	}
	out := &node.Quarantine{Held: q.held, Draining: q.draining}
	if q.since != nil {
		out.Since = *q.since
	}
	return out
}

// queueMoved reads what a change of driver, group or interfaces did to the
// node's quarantine, and closes one that it has left.
func (s *Store) queueMoved(b *pgx.Batch, l *lockedNode) {
	b.Queue(movedSQL, args{"id": l.ID, "timeout": micros(s.conductorTimeout)}).QueryRow(func(r pgx.Row) error {
		var q quarantineRow
		err := r.Scan(q.into()...)
		l.Quarantine = q.quarantine()
		return err
	})
	b.Queue(leftSQL, args{"id": l.ID, "kept": HistoryKept, "type": eventQuarantine})
}

const movedSQL = `SELECT v.quarantined, v.held AND v.covered, v.since, v.draining FROM nodes n` + quarantineJoin + ` WHERE n.id = @id`
