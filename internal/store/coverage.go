package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// Who covers a node is what functions of the schema say: conductor_covers, conductor_takes_work,
// covered_needs, coverage and need_coverage. A conductor covers needs, not nodes: the trigger
// node_need gives each node the row of needs (need_id) that says in wants what its driver and
// interfaces need.

// Node n is in quarantine, or is not, in a statement that begins with
//
//	WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
//
// The first form lets the few that are come from an index, the second is a look into a
// hashed set for each row that an index gives in order.
const (
	quarantinedSQL = `n.need_id = ANY (ARRAY(SELECT x.id FROM coverage x WHERE x.quarantined))`
	servableSQL    = `n.need_id NOT IN (SELECT x.id FROM coverage x WHERE x.quarantined)`
)

// withCoverageSQL begins statements that are made of parts.
const withCoverageSQL = `WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))`

// quarantineRow is what statements select of the coverage v of a node:
// v.quarantined, v.held AND v.covered, v.since, v.draining.
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
	b.Queue(leftSQL, args{"id": l.ID, "type": node.HistoryQuarantine, "event": nodeReleased})
}

const movedSQL = `
SELECT v.quarantined, v.held AND v.covered, v.since, v.draining
  FROM nodes n CROSS JOIN LATERAL need_coverage(n.need_id, @timeout) v WHERE n.id = @id`
