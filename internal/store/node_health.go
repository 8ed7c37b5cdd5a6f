package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// silentUnasked is after which time a silent BMC is asked by nobody: the node is in maintenance, say, or power states are not read.
const silentUnasked = 5 * time.Minute

// The health is also read of nodes in maintenance, because that is when somebody mends them. A silent BMC is read only if nobody
// asks it when it is due (silentDueSQL), because it would stay silent for ever otherwise.
const healthDueSQL = `
SELECT n.id, n.uuid::text, n.driver, n.interfaces, n.driver_info, coalesce(h.status, 'unknown'), coalesce(h.reasons, '[]'), h.since, h.read_at, to_jsonb(s)
  FROM ring_owners r JOIN nodes n ON n.id = r.node_id LEFT JOIN node_health h ON h.node_id = n.id LEFT JOIN bmc_silences s ON s.node_id = n.id
 WHERE r.conductor_id = (SELECT c.id FROM conductors c WHERE c.hostname = @hostname) AND r.node_id > @after
   AND n.driver = ANY (@drivers)
   AND n.fault IS DISTINCT FROM 'power failure'
   AND n.provision_state NOT IN ('enroll', 'verifying', 'adopt failed')
   AND NOT EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)
   AND (s.next_at IS NULL OR s.next_at < clock_timestamp() - @unasked::bigint * interval '1 microsecond')
 ORDER BY r.node_id LIMIT @limit`

// HealthDue returns a page of the nodes with these drivers that a conductor owns by the ring and whose health may be read now,
// because no operation holds them, and their BMC answers as far as is known, or has been silent and is asked by nobody (Silence
// is set). after is the ID of the last node of the page before.
func (s *Store) HealthDue(ctx context.Context, hostname string, drivers []string, after int64, limit int) ([]node.HealthDue, error) {
	a := args{"hostname": hostname, "drivers": drivers, "after": after, "limit": pageLimit(limit), "unasked": micros(silentUnasked)}
	return list(ctx, s, "list nodes to read the health of", healthDueSQL, a, func(r pgx.Row) (d node.HealthDue, err error) {
		places := append([]any{&d.ID, &d.UUID, &d.Driver, &d.Interfaces, &d.DriverInfo}, healthPlaces(&d.Before)...)
		return d, r.Scan(append(places, &d.Silence)...)
	})
}

func healthPlaces(h *node.Health) []any { return []any{&h.Status, &h.Reasons, &h.Since, &h.ReadAt} }

// recordHealthSQL writes readings of many nodes, and an event for each node whose health has changed. Nodes that were deleted meanwhile
// get no reading.
const recordHealthSQL = `
WITH read AS MATERIALIZED (
	SELECT n.id, d.status, d.reasons::jsonb, d.since, d.read_at, d.told::jsonb, d.cause, d.wrong
	  FROM unnest(@ids::bigint[], @statuses::text[], @reasons::text[], @since::timestamptz[], @read_at::timestamptz[], @told::text[], @causes::text[], @wrong::boolean[])
		AS d (id, status, reasons, since, read_at, told, cause, wrong) JOIN nodes n ON n.id = d.id ORDER BY n.id),
written AS (
	INSERT INTO node_health AS h (node_id, status, reasons, since, read_at)
	SELECT r.id, r.status, r.reasons, r.since, r.read_at FROM read r ORDER BY r.id
	ON CONFLICT (node_id) DO UPDATE SET status = excluded.status, reasons = excluded.reasons, since = excluded.since, read_at = excluded.read_at
	 WHERE h.read_at < excluded.read_at
	RETURNING h.node_id)
INSERT INTO events (` + nodeColumns + `, type, cause, data)
SELECT ` + nodeValues + `, 'node.health_changed', r.cause, jsonb_build_object('previous_health', coalesce(b.status, 'unknown'), 'health', r.status, 'health_reasons', r.told)
  FROM read r JOIN written w ON w.node_id = r.id JOIN nodes n ON n.id = r.id LEFT JOIN node_health b ON b.node_id = r.id
 WHERE CASE WHEN b.node_id IS NULL THEN r.wrong ELSE (b.status, b.reasons) IS DISTINCT FROM (r.status, r.reasons) END
 ORDER BY r.id`

// RecordHealth writes the health of nodes as it was read, in one statement. It does not replace a reading that is newer.
func (s *Store) RecordHealth(ctx context.Context, seen []node.HealthSeen) error {
	count := len(seen)
	ids, statuses, reasons := make([]int64, count), make([]string, count), make([]string, count)
	since, readAt := make([]*time.Time, count), make([]*time.Time, count)
	toldOf, causes, wrong := make([]string, count), make([]fault.Code, count), make([]bool, count)
	for i, h := range seen {
		ids[i], statuses[i], since[i], readAt[i] = h.ID, string(h.Status), h.Since, h.ReadAt
		wrong[i] = h.Status == node.HealthWarning || h.Status == node.HealthCritical
		if h.Status == node.HealthCritical {
			causes[i] = fault.HardwareUnhealthy
		}
		kept := make([]node.HealthReason, len(h.Reasons))
		for j, r := range h.Reasons { // the BMC's words: no NUL, and no more than people read
			r.Name, r.Message = words(r.Name, maxHealthWords), words(failure(r.Message), maxHealthWords)
			kept[j] = r
		}
		var d dicts
		reasons[i], toldOf[i] = string(d.of(kept)), string(d.of(healthTold(kept)))
		if d.err != nil {
			return d.err
		}
	}
	_, err := s.exec(ctx, "record the health of nodes", recordHealthSQL, args{"ids": ids, "statuses": statuses, "reasons": reasons, "since": since, "read_at": readAt, "told": toldOf, "causes": causes, "wrong": wrong})
	return err
}

// maxHealthTold is how many reasons an event has.
const maxHealthTold = 5

// healthTold returns the reasons as events have them: the first ones, without the BMC's words.
func healthTold(reasons []node.HealthReason) []map[string]any {
	out := []map[string]any{}
	for _, r := range reasons[:min(len(reasons), maxHealthTold)] {
		out = append(out, map[string]any{"kind": r.Kind, "name": r.Name, "severity": r.Severity})
	}
	return out
}

// maxHealthWords is how many runes of what a BMC says of one part are kept.
const maxHealthWords = 255

const (
	nodeHealthSQL = `
SELECT n.id, n.uuid::text, coalesce(n.name, ''), coalesce(h.status, 'unknown'), coalesce(h.reasons, '[]'), h.since, h.read_at, ` + withheldSQL + `
  FROM nodes n LEFT JOIN node_health h ON h.node_id = n.id WHERE `

	healthListSQL = `
SELECT n.id, n.uuid::text, coalesce(n.name, ''), h.status, h.reasons, h.since, h.read_at, ` + withheldSQL + `
  FROM node_health h JOIN nodes n ON n.id = h.node_id`
)

// NodeHealth returns the health of a node. If it was never read, its status is unknown.
func (s *Store) NodeHealth(ctx context.Context, ident string) (*node.NodeHealth, error) {
	var out node.NodeHealth
	sql := byIdent(ident, nodeHealthSQL+"n.uuid = @ident", nodeHealthSQL+"n.name = @ident")
	found, err := s.one(ctx, "read the health of node "+words(ident, 64), sql, args{"ident": ident, "withhold": s.withhold}, func(r pgx.Row) (err error) {
		out, err = scanHealth(r)
		return err
	})
	if err == nil && !found {
		err = node.NotFound(ident)
	}
	return &out, err
}

// HealthList returns a page of the nodes whose health was ever read, in order of age.
func (s *Store) HealthList(ctx context.Context, f node.HealthFilter) ([]node.NodeHealth, error) {
	sql, a := s.healthList(f)
	return list(ctx, s, "list the health of nodes", sql, a, scanHealth)
}

func (s *Store) healthList(f node.HealthFilter) (string, args) {
	q := &query{args: args{"withhold": s.withhold, "after": f.After, "limit": pageLimit(f.Limit)}, tail: " ORDER BY h.node_id LIMIT @limit"}
	q.and("h.node_id > @after")
	if f.Status != "" {
		q.and("h.status = @status")
		q.args["status"] = string(f.Status)
	}
	q.only(f.Only, "n")
	return healthListSQL + q.String(), q.args
}

func scanHealth(r pgx.Row) (h node.NodeHealth, err error) {
	return h, r.Scan(append([]any{&h.ID, &h.UUID, &h.Name}, append(healthPlaces(&h.Health), &h.Withheld)...)...)
}
