package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

// nodeBatch is how many nodes reconciliation locks and writes in one transaction. After batchesTime
// it leaves the rest to the next tick.
const (
	nodeBatch   = 5000
	batchesTime = 2 * time.Second
)

// These bound what one tick writes of quarantines. 100,000 nodes take about two seconds on an idle
// machine; the bound of time is for busy ones.
const (
	quarantineMost = 500_000
	quarantineTime = 10 * time.Second
)

// The types of the events of a quarantine.
const nodeQuarantined, nodeReleased = "node.quarantined", "node.released"

// seeCoverageSQL records which needs have lost coverage since the last time and which are covered
// again. A need that lost coverage too often is held until it has been covered for a while. If two
// processes run the statement at once, the second one sees the rows as the first one left them and
// writes nothing. Nodes of conductors that are kept over a gap (conductor_kept) count as covered.
const seeCoverageSQL = `
WITH live AS MATERIALIZED (
	SELECT DISTINCT c.conductor_group, c.interfaces FROM conductors c CROSS JOIN witness w WHERE NOT c.draining AND conductor_kept(c, w, @timeout)),
covered AS MATERIALIZED (
	SELECT d.id FROM needs d WHERE EXISTS (SELECT FROM live c WHERE conductor_covers(c.conductor_group, c.interfaces, d))),
coverage AS MATERIALIZED (
	SELECT d.id, k.id IS NOT NULL AS covered, CASE WHEN k.id IS NULL THEN need_last_life(d) END AS lost
	  FROM needs d LEFT JOIN covered k ON k.id = d.id),
changed AS MATERIALIZED (
	SELECT d.id FROM needs d JOIN coverage v ON v.id = d.id WHERE need_changed(d, v.covered, @hold) ORDER BY d.id FOR NO KEY UPDATE OF d)
UPDATE needs d SET
	lost_at    = CASE WHEN NOT v.covered THEN coalesce(d.lost_at, least(v.lost, clock_timestamp()))
	                  WHEN d.held AND (d.covered_at IS NULL OR d.covered_at > clock_timestamp() - @hold::bigint * interval '1 microsecond') THEN d.lost_at END,
	covered_at = CASE WHEN v.covered AND d.held AND d.covered_at IS NULL THEN clock_timestamp() END,
	losses     = CASE WHEN v.covered THEN d.losses ELSE x.losses END,
	held       = CASE WHEN v.covered THEN d.held AND (d.covered_at IS NULL OR d.covered_at > clock_timestamp() - @hold::bigint * interval '1 microsecond')
	                  ELSE d.held OR cardinality(x.losses) >= @flaps END
  FROM coverage v
  JOIN LATERAL (SELECT array(SELECT l FROM needs m, unnest(m.losses) l WHERE m.id = v.id AND l > clock_timestamp() - @window * interval '1 microsecond' ORDER BY l)
	|| least(v.lost, clock_timestamp()) AS losses) x ON true
 WHERE v.id = d.id AND d.id IN (SELECT c.id FROM changed c) AND need_changed(d, v.covered, @hold)`

const (
	lostRequirementsSQL = `
SELECT d.id, d.conductor_group, d.driver, d.held AND d.covered_at IS NOT NULL, d.lost_at, need_draining(d, @timeout)
  FROM needs d WHERE d.lost_at IS NOT NULL ORDER BY d.id`

	toQuarantineSQL = `
SELECT n.id FROM nodes n
 WHERE n.need_id = ANY (@needs) AND NOT EXISTS (SELECT FROM quarantines q WHERE q.node_id = n.id)
 ORDER BY n.id LIMIT @limit`

	// quarantineSQL reads the need of each node again, because another transaction may have changed it before the row was
	// locked.
	quarantineSQL = `
WITH lost AS MATERIALIZED (
	SELECT d.id, d.lost_at, r.reason FROM needs d JOIN unnest(@needs::bigint[], @reasons::text[]) AS r (need, reason) ON r.need = d.id
	 WHERE d.lost_at IS NOT NULL),
kept AS (
	INSERT INTO quarantines (node_id, need_id, since)
	SELECT n.id, d.id, d.lost_at FROM nodes n JOIN lost d ON d.id = n.need_id WHERE n.id = ANY (@ids)
	ON CONFLICT DO NOTHING
	RETURNING node_id, need_id),
marked AS (SELECT k.node_id, 'ERROR' AS severity, 'quarantined: ' || d.reason AS event FROM kept k JOIN lost d ON d.id = k.need_id)` + manyHistorySQL

	toReleaseSQL = `
SELECT q.node_id FROM quarantines q JOIN nodes n ON n.id = q.node_id JOIN needs d ON d.id = n.need_id
 WHERE d.lost_at IS NULL OR d.id <> q.need_id
 ORDER BY q.node_id LIMIT @limit`

	releaseSQL = `
WITH marked AS (
	DELETE FROM quarantines q USING nodes n JOIN needs d ON d.id = n.need_id
	 WHERE q.node_id = ANY (@ids) AND n.id = q.node_id AND (d.lost_at IS NULL OR d.id <> q.need_id)
	RETURNING q.node_id, 'INFO' AS severity, 'released from quarantine: a conductor covers the node again' AS event)` + manyHistorySQL

	leftSQL = `
WITH marked AS (
	DELETE FROM quarantines q USING nodes n
	 WHERE n.id = @id AND q.node_id = n.id AND q.need_id <> n.need_id
	RETURNING q.node_id, 'INFO' AS severity, 'released from quarantine: the node went to another driver, group or interface' AS event)` + manyHistorySQL

	// manyHistorySQL writes the events of marked (node_id, severity, event).
	manyHistorySQL = `
INSERT INTO events (` + nodeColumns + `, type, data, text, event_type, severity, state, target_state)
SELECT ` + nodeValues + `, @event, jsonb_build_object('driver', n.driver, 'conductor_group', n.conductor_group), m.event, @type, m.severity, ` + stateValues + `
  FROM marked m JOIN nodes n ON n.id = m.node_id ORDER BY n.id`
)

// Quarantine records which nodes have gone into quarantine since it was called last, and which were
// released. What is offered does not depend on it. Any number of processes may call it at once.
func (s *Store) Quarantine(ctx context.Context) (coverage.QuarantineTick, error) {
	var t coverage.QuarantineTick
	_, err := s.exec(ctx, "see who is covered", seeCoverageSQL, args{
		"timeout": micros(s.conductorTimeout), "hold": micros(node.FlapHold), "window": micros(node.FlapWindow), "flaps": node.FlapLosses,
	})
	if err != nil {
		return t, err
	}
	needs, reasons := []int64{}, []string{}
	_, err = list(ctx, s, "list what nobody covers", lostRequirementsSQL, args{"timeout": micros(s.conductorTimeout)}, func(r pgx.Row) (struct{}, error) {
		var id int64
		var group, driver string
		var q node.Quarantine
		err := r.Scan(&id, &group, &driver, &q.Held, &q.Since, &q.Draining)
		needs, reasons = append(needs, id), append(reasons, node.QuarantineReason(group, driver, q))
		return struct{}{}, err
	})
	if err != nil {
		return t, err
	}
	until := time.Now().Add(quarantineTime)
	if len(needs) > 0 {
		t.Quarantined, err = s.someNodes(ctx, "quarantine nodes", until, toQuarantineSQL, args{"needs": needs}, quarantineSQL, args{
			"needs": needs, "reasons": reasons, "type": node.HistoryQuarantine, "event": nodeQuarantined,
		})
		if err != nil {
			return t, err
		}
	}
	t.Released, err = s.someNodes(ctx, "release nodes from quarantine", until, toReleaseSQL, args{}, releaseSQL, args{
		"type": node.HistoryQuarantine, "event": nodeReleased,
	})
	return t, err
}

// lockNodesSQL locks nodes. It is sent before the statement that writes, so that that one sees the
// nodes as they are when the rows are locked. Rows that other transactions have locked are left
// for the next tick.
const lockNodesSQL = `SELECT n.id FROM nodes n WHERE n.id = ANY (@ids) ORDER BY n.id FOR NO KEY UPDATE OF n SKIP LOCKED`

// someNodes runs the statement find, and then the statement write for the nodes that it has found, one
// batch in each transaction. It returns how many rows were written. Nodes that are not written until
// then are found again by the next tick.
func (s *Store) someNodes(ctx context.Context, what string, until time.Time, find string, by args, write string, with args) (total int, err error) {
	by["limit"] = quarantineMost
	ids, err := list(ctx, s, what, find, by, scanID)
	if err != nil {
		return 0, err
	}
	for batch := range slices.Chunk(ids, nodeBatch) {
		var held []int64
		var written int
		err := s.inTx(ctx, what, func(b *pgx.Batch) {
			b.Queue(lockNodesSQL, args{"ids": batch}).Query(collect(&held, scanID))
		}, func(b *pgx.Batch) error {
			if len(held) == 0 {
				return errLeave
			}
			with["ids"] = held
			b.Queue(write, with).Exec(countInto(&written))
			return nil
		})
		if err != nil {
			return total, err
		}
		total += written
		if time.Now().After(until) {
			break
		}
	}
	return total, nil
}

// quarantinedNowSQL names conductors and operations only for needs of nodes: rows of needs outlast their nodes.
const quarantinedNowSQL = `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
SELECT v.conductor_group, v.driver, coalesce(sum(k.nodes), 0)::bigint, coalesce(bool_or(NOT v.covered AND k.nodes > 0), false),
	coalesce((max(f.conductor))[1], ''), coalesce((max(f.conductor))[2], ''), coalesce(max(s.operations), 0), max(s.fails_at)
  FROM coverage v LEFT JOIN (SELECT c.need_id, sum(c.nodes) AS nodes FROM node_counts c GROUP BY 1) k ON k.need_id = v.id
	LEFT JOIN LATERAL (
	SELECT ARRAY[c.hostname, (SELECT string_agg(x.driver, ',' ORDER BY x.driver) FROM jsonb_object_keys(c.interfaces) AS x (driver))] AS conductor
	  FROM conductors c CROSS JOIN witness w JOIN needs d ON d.id = v.id
	 WHERE NOT v.covered AND k.nodes > 0 AND conductor_covers(c.conductor_group, c.interfaces, d) AND NOT conductor_alive(c, w, @timeout)
	 ORDER BY c.heartbeat_at DESC LIMIT 1) AS f ON true
	LEFT JOIN (SELECT o.conductor_group, o.driver, count(*) AS operations, min(o.waiting_until) AS fails_at
	  FROM operations o WHERE o.stalled = 'conductor' AND o.ended_at IS NULL GROUP BY 1, 2) AS s
	ON s.conductor_group = v.conductor_group AND s.driver = v.driver
 WHERE v.quarantined GROUP BY v.conductor_group, v.driver ORDER BY v.conductor_group, v.driver`

// Quarantined returns how many nodes of each conductor group and driver are in quarantine now, and what waits for a conductor there. The
// number is 0 where there were such nodes, and conductors for them, once.
func (s *Store) Quarantined(ctx context.Context) ([]coverage.Quarantined, error) {
	return list(ctx, s, "count nodes in quarantine", quarantinedNowSQL, args{"timeout": micros(s.conductorTimeout)}, func(r pgx.Row) (q coverage.Quarantined, err error) {
		return q, r.Scan(&q.Group, &q.Driver, &q.Nodes, &q.Uncovered, &q.Former, &q.FormerDrivers, &q.Waiting, &q.FailsAt)
	})
}
