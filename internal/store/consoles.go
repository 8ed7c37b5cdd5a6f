package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

var enableConsoleSQL = nodeUpdate(`UPDATE nodes SET console_enabled = @on, updated_at = clock_timestamp() WHERE id = @id`)

// The holder of a console that is disabled finds its claim gone.
const dropConsoleSQL = `DELETE FROM consoles WHERE node_id = @id`

// EnableConsole records whether a conductor is to hold the serial console of a node open for clients, unless allow returns an
// error. An open operation is no obstacle.
func (s *Store) EnableConsole(ctx context.Context, ident string, on bool, user string, allow func(*node.Node) error) error {
	return s.inNodeTx(ctx, ident, "enable or disable the console of node "+words(ident, 64), func(l *lockedNode, b *pgx.Batch) error {
		if err := allow(&l.Node); err != nil {
			return err
		}
		if l.ConsoleEnabled == on {
			return errLeave
		}
		l.ConsoleEnabled = on
		_, err := l.queueUpdate(b, enableConsoleSQL, args{"id": l.ID, "on": on})
		queueConsole(b, l.ID, on, user)
		return err
	})
}

// queueConsole queues what follows when the console of a node is enabled or disabled.
func queueConsole(b *pgx.Batch, id int64, on bool, user string) {
	event := "console enabled"
	if !on {
		event = "console disabled"
		b.Queue(dropConsoleSQL, args{"id": id})
	}
	queueHistory(b, id, node.HistoryEvent{Event: event, EventType: node.HistoryChange, User: user})
}

// Only consoles whose holder is alive count, so that no address of a dead conductor is told.
const consoleSQL = `
SELECT k.conductor, k.claim, k.address, k.error, k.error_at, k.next_at
  FROM consoles k JOIN nodes n ON n.id = k.node_id
  JOIN conductors c ON c.hostname = k.conductor AND c.incarnation = k.incarnation CROSS JOIN witness w
 WHERE k.node_id = @id AND n.console_enabled AND conductor_alive(c, w, @timeout)`

// Console returns what the holder of the console of the node with this id tells of it, the zero value if no live conductor
// holds it.
func (s *Store) Console(ctx context.Context, id int64) (c node.Console, err error) {
	_, err = s.one(ctx, "read a console", consoleSQL, args{"id": id, "timeout": micros(s.conductorTimeout)}, func(r pgx.Row) error {
		return r.Scan(&c.Conductor, &c.Claim, &c.Address, &c.Error, &c.ErrorAt, &c.NextAt)
	})
	return c, err
}

const consolesOwnedSQL = `
SELECT n.id, CASE WHEN k.conductor = @hostname AND k.incarnation = @incarnation THEN k.claim ELSE 0 END, n.reached_since
  FROM nodes n JOIN ring_owners r ON r.node_id = n.id LEFT JOIN consoles k ON k.node_id = n.id
 WHERE n.console_enabled AND n.id > @after AND n.driver = ANY (@drivers)
   AND r.conductor_id = (SELECT c.id FROM conductors c WHERE c.hostname = @hostname AND c.incarnation = @incarnation)
 ORDER BY n.id LIMIT @limit`

// ConsolesOwned returns a page of the consoles that are enabled, of nodes with these drivers that the conductor owns by the ring.
// after is the ID of the last one of the page before.
func (s *Store) ConsolesOwned(ctx context.Context, conductor node.Host, drivers []string, after int64, limit int) ([]node.ConsoleOwned, error) {
	a := args{"hostname": conductor.Name, "incarnation": conductor.Incarnation, "drivers": drivers, "after": after, "limit": pageLimit(limit)}
	return list(ctx, s, "list consoles", consolesOwnedSQL, a, func(r pgx.Row) (c node.ConsoleOwned, err error) {
		return c, r.Scan(&c.ID, &c.Claim, &c.ReachedSince)
	})
}

// A claim is greater than all claims before it, also of consoles that were disabled meanwhile, so that nobody mistakes the claim of
// another for an own one.
const holdConsolesSQL = `
WITH due AS (
	SELECT n.id FROM nodes n JOIN ring_owners r ON r.node_id = n.id
	 WHERE n.id = ANY (@ids) AND n.console_enabled
	   AND r.conductor_id = (SELECT c.id FROM conductors c WHERE c.hostname = @hostname AND c.incarnation = @incarnation)
	 ORDER BY n.id),
held AS (
	INSERT INTO consoles AS k (node_id, conductor, incarnation) SELECT due.id, @hostname, @incarnation FROM due
	ON CONFLICT (node_id) DO UPDATE SET claim = excluded.claim, conductor = excluded.conductor, incarnation = excluded.incarnation, address = ''
	RETURNING k.node_id, k.claim, k.session)
SELECT n.id, n.uuid::text, n.driver, n.interfaces, n.driver_info, coalesce(n.power_state, ''), n.reached_since, held.claim, held.session
  FROM held JOIN nodes n ON n.id = held.node_id ORDER BY n.id`

// HoldConsoles claims the consoles of the nodes with these ids, as far as they are enabled and the conductor owns them. The claims
// of those who held them before are void. Of the nodes ID, UUID, Driver, Interfaces, DriverInfo, PowerState and ReachedSince are set.
func (s *Store) HoldConsoles(ctx context.Context, conductor node.Host, ids []int64) ([]node.ConsoleHeld, error) {
	a := args{"hostname": conductor.Name, "incarnation": conductor.Incarnation, "ids": ids}
	return list(ctx, s, "claim consoles", holdConsolesSQL, a, func(r pgx.Row) (h node.ConsoleHeld, err error) {
		return h, r.Scan(&h.ID, &h.UUID, &h.Driver, &h.Interfaces, &h.DriverInfo, &h.PowerState, &h.ReachedSince, &h.Claim, &h.Left)
	})
}

const saveConsolesSQL = `
WITH told AS (
	SELECT k.node_id, d.* FROM unnest(@ids::bigint[], @claims::bigint[], @addresses::text[], @sessions::boolean[], @errors::text[], @pauses::bigint[])
		AS d (id, claim, address, session, error, pause)
	  JOIN consoles k ON k.node_id = d.id AND k.claim = d.claim JOIN nodes n ON n.id = d.id AND n.console_enabled
	 ORDER BY k.node_id FOR UPDATE OF k)
UPDATE consoles k SET address = told.address, session = told.session, error = told.error,
	error_at = CASE WHEN told.error = k.error AND told.pause = 0 THEN k.error_at WHEN told.error <> '' THEN clock_timestamp() END,
	next_at = CASE WHEN told.error <> '' AND told.pause > 0 THEN clock_timestamp() + told.pause * interval '1 microsecond' END
  FROM told WHERE k.node_id = told.node_id
RETURNING k.node_id, k.claim`

// SaveConsoles writes what their holder tells of consoles, in one statement. It returns the claims that are still the newest, by the
// ID of the node; of the others, and of consoles that are not enabled any more, nothing is written.
func (s *Store) SaveConsoles(ctx context.Context, states []node.ConsoleState) (map[int64]int64, error) {
	count := len(states)
	ids, claims, pauses := make([]int64, count), make([]int64, count), make([]int64, count)
	addresses, errors, sessions := make([]string, count), make([]string, count), make([]bool, count)
	for i, c := range states {
		ids[i], claims[i], addresses[i], sessions[i], errors[i], pauses[i] = c.ID, c.Claim, c.Address, c.Session, failure(c.Error), micros(c.Pause)
	}
	a := args{"ids": ids, "claims": claims, "addresses": addresses, "sessions": sessions, "errors": errors, "pauses": pauses}
	rows, err := list(ctx, s, "record consoles", saveConsolesSQL, a, func(r pgx.Row) (c [2]int64, err error) {
		return c, r.Scan(&c[0], &c[1])
	})
	out := make(map[int64]int64, len(rows))
	for _, c := range rows {
		out[c[0]] = c[1]
	}
	return out, err
}

const releaseConsolesSQL = `
DELETE FROM consoles k USING (
	SELECT x.node_id FROM unnest(@ids::bigint[], @claims::bigint[]) AS d (id, claim) JOIN consoles x ON x.node_id = d.id AND x.claim = d.claim
	 ORDER BY x.node_id FOR UPDATE OF x) held
 WHERE k.node_id = held.node_id`

// ReleaseConsoles gives consoles back: the claim of each, by the ID of its node.
func (s *Store) ReleaseConsoles(ctx context.Context, claims map[int64]int64) error {
	ids, numbers := make([]int64, 0, len(claims)), make([]int64, 0, len(claims))
	for id, claim := range claims {
		ids, numbers = append(ids, id), append(numbers, claim)
	}
	_, err := s.exec(ctx, "release consoles", releaseConsolesSQL, args{"ids": ids, "claims": numbers})
	return err
}
