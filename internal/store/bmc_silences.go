package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// silentSQL notes that a BMC gave no answer: for the node of which it was asked, and for those of its nodes that have a row already, which
// were put off when it was asked. They are locked in the order of nodes, before the node's own row may be inserted.
const silentSQL = `
WITH shared AS MATERIALIZED (SELECT s.node_id, s.bmc, s.since FROM bmc_silences s WHERE s.bmc = @bmc OR s.node_id = @node ORDER BY s.node_id FOR UPDATE),
told AS MATERIALIZED (
	SELECT clock_timestamp() AS asked_at, clock_timestamp() + @pause::bigint * interval '1 microsecond' AS next_at,
		coalesce(min(shared.since) FILTER (WHERE shared.bmc = @bmc), clock_timestamp() - @lasts::bigint * interval '1 microsecond') AS since
	  FROM shared),
others AS (
	UPDATE bmc_silences s SET asked_at = told.asked_at, asked_by = @conductor, next_at = told.next_at, asking = false, seen = @seen
	  FROM shared, told WHERE s.node_id = shared.node_id AND s.node_id <> @node)
INSERT INTO bmc_silences AS s (node_id, bmc, since, asked_at, asked_by, next_at, seen)
SELECT @node, @bmc, told.since, told.asked_at, @conductor, told.next_at, @seen FROM told
ON CONFLICT (node_id) DO UPDATE SET bmc = excluded.bmc, since = excluded.since,
	asked_at = excluded.asked_at, asked_by = excluded.asked_by, next_at = excluded.next_at, asking = false, seen = excluded.seen`

// BMCSilent records that the BMC of the node with this id gave s.AskedBy no answer, with s.Seen as error. Nobody asks it,
// for whatever of its nodes, for pause. A silence that is recorded already has begun when it says; another one has at s.Since, by the
// clock of who asks, or now if that is zero.
func (s *Store) BMCSilent(ctx context.Context, id int64, silence node.BMCSilence, pause time.Duration) error {
	lasts := time.Duration(0)
	if !silence.Since.IsZero() {
		lasts = max(time.Since(silence.Since), 0)
	}
	_, err := s.exec(ctx, "record that a BMC is silent", silentSQL, args{
		"lasts": micros(lasts), "node": id, "bmc": silence.BMC, "conductor": silence.AskedBy, "seen": words(silence.Seen, maxError), "pause": micros(pause),
	})
	return err
}

// askSilentSQL locks all rows of the BMC, in the order of nodes as everybody does, so that one of those that ask at once is the
// first. Locked rows are read as they are by then.
const askSilentSQL = `
WITH shared AS MATERIALIZED (SELECT s.node_id, s.next_at FROM bmc_silences s WHERE s.bmc = @bmc ORDER BY s.node_id FOR UPDATE),
due AS (SELECT @now OR coalesce(max(shared.next_at) <= clock_timestamp(), true) AS yes, max(shared.next_at) AS next_at FROM shared),
asked AS (
	UPDATE bmc_silences s SET asked_at = clock_timestamp(), asked_by = @conductor, asking = true, next_at = clock_timestamp() + @within::bigint * interval '1 microsecond'
	  FROM shared, due WHERE s.node_id = shared.node_id AND due.yes)
SELECT CASE WHEN due.yes THEN 0 ELSE ceil(extract(epoch FROM due.next_at - clock_timestamp()) * 1000000) END::bigint FROM due`

// AskSilentBMC returns how long the conductor has to wait before it may ask a silent BMC, because another conductor asks it or
// because the pause after the last request is not over. 0 means that the conductor may ask now, or that the BMC is not silent any
// more. If now is true, the result is 0 in any case. If it is 0, nobody else asks the BMC for within, or until BMCSilent sets a
// new pause.
func (s *Store) AskSilentBMC(ctx context.Context, bmc, conductor string, within time.Duration, now bool) (time.Duration, error) {
	var left int64
	a := args{"bmc": bmc, "conductor": conductor, "within": micros(within), "now": now}
	_, err := s.one(ctx, "ask a silent BMC", askSilentSQL, a, func(r pgx.Row) error { return r.Scan(&left) })
	return max(time.Duration(left)*time.Microsecond, 0), err
}

const answeredSQL = `
DELETE FROM bmc_silences s USING (SELECT x.node_id FROM bmc_silences x WHERE x.bmc = @bmc OR x.node_id = @node ORDER BY x.node_id FOR UPDATE) gone
 WHERE s.node_id = gone.node_id`

// BMCAnswered forgets the silence of a BMC for all of its nodes, and that of the BMC that the node with this id had before.
func (s *Store) BMCAnswered(ctx context.Context, id int64, bmc string) error {
	_, err := s.exec(ctx, "forget that a BMC was silent", answeredSQL, args{"node": id, "bmc": bmc})
	return err
}

var silentDueSQL = `
UPDATE bmc_silences s SET asked_at = clock_timestamp(), asked_by = @hostname, asking = true, next_at = clock_timestamp() + @within::bigint * interval '1 microsecond'
  FROM (
	SELECT b.node_id FROM bmc_silences b JOIN ring_owners r ON r.node_id = b.node_id JOIN nodes n ON n.id = b.node_id
	 WHERE b.next_at <= clock_timestamp() AND r.conductor_id = (SELECT c.id FROM conductors c WHERE c.hostname = @hostname)
	   AND ` + powerReadableSQL + `
	 ORDER BY b.next_at LIMIT @limit FOR UPDATE OF b SKIP LOCKED) due,
	nodes n` + powerRead.join() + `
 WHERE s.node_id = due.node_id AND n.id = s.node_id
RETURNING n.id, n.uuid::text, n.driver, n.interfaces, n.driver_info, coalesce(n.power_state, ''), ` + powerRead.joined() + `, coalesce(n.fault, ''), to_jsonb(s)`

// SilentDue returns nodes like PowerDue, but of those whose BMC is silent and has to be asked now: those that were due first.
// Silence is set, too. Nobody else asks these BMCs for within.
func (s *Store) SilentDue(ctx context.Context, hostname string, drivers []string, within time.Duration, limit int) ([]node.Node, error) {
	a := args{"hostname": hostname, "drivers": drivers, "within": micros(within), "limit": pageLimit(limit)}
	return list(ctx, s, "list silent BMCs to ask", silentDueSQL, a, func(r pgx.Row) (n node.Node, err error) {
		return n, r.Scan(&n.ID, &n.UUID, &n.Driver, &n.Interfaces, &n.DriverInfo, &n.PowerState, &n.PowerReadAt, &n.Fault, &n.Silence)
	})
}
