package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// Who covers a node is what these constants say, in every statement. A conductor covers
// needs, not nodes: the trigger node_need gives each node the row of needs (need_id) that
// says in wants what its driver and interfaces need. In Go the same stands in
// coverage.Conductor.Covers, for code that has read the conductors; a test compares the two.
const (
	// coversSQL: conductor c has all that need d wants, whether it is alive or not.
	coversSQL = `c.conductor_group = d.conductor_group AND c.interfaces @> d.wants`

	// takesWorkSQL: conductor c is alive and does not drain.
	takesWorkSQL = `NOT c.draining AND ` + aliveSQL

	// coveredSQL: some conductor covers need d now.
	coveredSQL = `EXISTS (SELECT FROM conductors c CROSS JOIN witness w WHERE ` + coversSQL + ` AND ` + takesWorkSQL + `)`

	// nodeCoveredSQL: some conductor covers node n now, in a statement about one node.
	nodeCoveredSQL = `EXISTS (SELECT FROM needs d WHERE d.id = n.need_id AND ` + coveredSQL + `)`

	// nodeInCoveredSQL says the same in a statement that begins withCoveredSQL.
	nodeInCoveredSQL = `n.need_id IN (SELECT k.id FROM covered k)`
)

// withCoveredSQL finds the needs that are covered now, for a statement that reads many nodes.
const withCoveredSQL = `
WITH live AS MATERIALIZED (
	SELECT DISTINCT c.conductor_group, c.interfaces FROM conductors c CROSS JOIN witness w WHERE ` + takesWorkSQL + `),
` + coveredByLiveSQL

// coveredByLiveSQL: conductors of a group are mostly alike, so live has each kind of them once.
const coveredByLiveSQL = `covered AS MATERIALIZED (
	SELECT d.id FROM needs d WHERE EXISTS (SELECT FROM live c WHERE ` + coversSQL + `))
`

// sinceSQL is since when nobody covers need d: as reconciliation noted it or,
// until it has, the last sign of life of one that did; null = there never was one.
// What reconciliation noted of a loss before, after which the need was covered
// again (covered_at), is not it.
const sinceSQL = `CASE WHEN d.lost_at IS NOT NULL AND d.covered_at IS NULL THEN d.lost_at ELSE (
	SELECT max(coalesce(c.stopped_at, c.heartbeat_at)) FROM conductors c WHERE ` + coversSQL + `) END`

// heldSinceSQL is since when the conductors of need d, which is covered and held,
// come and go.
const heldSinceSQL = `coalesce(d.losses[1], d.lost_at)`

// drainingSQL names some of those who would cover need d and drain; null = nobody does.
const drainingSQL = `(
	SELECT array_agg(x.hostname ORDER BY x.hostname) FROM (SELECT c.hostname FROM conductors c CROSS JOIN witness w
		WHERE c.draining AND ` + coversSQL + ` AND ` + aliveSQL + ` ORDER BY c.hostname LIMIT 3) x)`

// withCoverageSQL is coverage, of all needs, for a statement that reads many
// nodes. Quarantined are the needs that nobody covers, and those that are held:
// they were lost too often lately.
const withCoverageSQL = withCoveredSQL + `, ` + coverageSQL

// withKeptCoverageSQL is the same for reconciliation, which takes nothing away from
// conductors that are kept over a gap.
const withKeptCoverageSQL = `
WITH live AS MATERIALIZED (
	SELECT DISTINCT c.conductor_group, c.interfaces FROM conductors c CROSS JOIN witness w WHERE NOT c.draining AND ` + keptSQL + `),
` + coveredByLiveSQL + `, ` + coverageSQL

const coverageSQL = `coverage AS MATERIALIZED (
	SELECT d.id, d.conductor_group, d.driver, d.held, k.id IS NOT NULL AS covered, k.id IS NULL OR d.held AS quarantined,
		CASE WHEN k.id IS NULL THEN ` + sinceSQL + ` WHEN d.held THEN ` + heldSinceSQL + ` END AS since, CASE WHEN k.id IS NULL THEN ` + drainingSQL + ` END AS draining
	  FROM needs d LEFT JOIN covered k ON k.id = d.id)
`

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
		SELECT d.held, y.covered, NOT y.covered OR d.held AS quarantined, CASE WHEN NOT y.covered THEN ` + sinceSQL + ` WHEN d.held THEN ` + heldSinceSQL + ` END AS since,
			CASE WHEN NOT y.covered THEN ` + drainingSQL + ` END AS draining
		  FROM needs d CROSS JOIN LATERAL (SELECT ` + coveredSQL + ` AS covered) y
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
	b.Queue(leftSQL, args{"id": l.ID, "kept": HistoryKept, "type": node.HistoryQuarantine})
}

const movedSQL = `SELECT v.quarantined, v.held AND v.covered, v.since, v.draining FROM nodes n` + quarantineJoin + ` WHERE n.id = @id`
