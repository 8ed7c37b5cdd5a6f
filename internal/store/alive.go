package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Who is alive is one expression, over conductors c and the row of witness w,
// by the database's clock: conductors' own clocks are not asked. @timeout is
// conductor_heartbeat_timeout in microseconds. A conductor is alive that was not
// stopped, and
//   - whose heartbeat is fresh; where nobody has looked at the clock for a while,
//     it is judged as of then; and for one timeout after a gap that a process
//     lived through, whoever was alive before it is;
//   - whose contact with Temporal is no older than the newest of anybody minus the
//     timeout: Temporal's absence for all expires nobody; and for one timeout after
//     its return, whoever had contact before is in contact.
const (
	aliveSQL = `(` + notStoppedSQL + ` AND (` + heardSQL + ` OR w.gap_seen AND ` + graceSQL + `) AND ` + inContactSQL + `) IS TRUE`

	// keptSQL is alive or, for one timeout after any gap, alive before it. Who is
	// kept is not taken away from its nodes by reconciliation, even where every
	// process that could have lived through the gap was started anew.
	keptSQL = `(` + notStoppedSQL + ` AND (` + heardSQL + ` OR ` + graceSQL + `) AND ` + inContactSQL + `) IS TRUE`

	notStoppedSQL = `c.stopped_at IS NULL`

	heardSQL = `(c.heartbeat_at BETWEEN clock_timestamp() - ` + timeoutSQL + ` AND clock_timestamp() + interval '1 second'
	OR w.seen_at NOT BETWEEN clock_timestamp() - ` + gapSQL + ` AND clock_timestamp() + interval '1 second'
		AND c.heartbeat_at > w.seen_at - ` + timeoutSQL + `)`

	graceSQL = `w.gap_until BETWEEN clock_timestamp() - ` + timeoutSQL + ` AND clock_timestamp() + interval '1 second'
		AND c.heartbeat_at > w.gap_from - ` + timeoutSQL

	inContactSQL = `(w.contact_at IS NULL
	OR c.polled_at BETWEEN w.contact_at - ` + timeoutSQL + ` AND w.contact_at + ` + timeoutSQL + `
	OR w.contact_until BETWEEN clock_timestamp() - ` + timeoutSQL + ` AND clock_timestamp() + interval '1 second'
		AND c.polled_at > w.contact_from - ` + timeoutSQL + `)`

	timeoutSQL = `@timeout * interval '1 microsecond'`

	// gapSQL is how old the last writing is when something was wrong: two and a
	// third of the time between two (WitnessEvery).
	gapSQL = `least(@timeout::bigint * 7 / 15, 7000000) * interval '1 microsecond'`
)

// WitnessEvery is the time between two writings of a witness, for a timeout of
// conductors' heartbeats: three seconds or, of shorter timeouts, a fifth.
func WitnessEvery(conductorTimeout time.Duration) time.Duration {
	return min(conductorTimeout/5, 3*time.Second)
}

// The row is locked before the clock is read: whoever waited for another
// witness must not take its writing for one from the future.
const witnessSQL = `
WITH held AS MATERIALIZED (SELECT * FROM witness FOR UPDATE),
timed AS MATERIALIZED (SELECT *, clock_timestamp() AS at FROM held),
g AS MATERIALIZED (SELECT *,
	seen_at NOT BETWEEN at - ` + gapSQL + ` AND at + interval '1 second' AS gap,
	contact_at NOT BETWEEN at - ` + gapSQL + ` AND at + interval '1 second' AS gone FROM timed)
UPDATE witness w SET seen_at = g.at,
	gap_from = CASE WHEN g.gap THEN g.seen_at ELSE g.gap_from END,
	gap_until = CASE WHEN g.gap THEN g.at ELSE g.gap_until END,
	gap_seen = coalesce(CASE WHEN g.gap THEN @mine::timestamptz >= g.seen_at - ` + gapSQL + `
		ELSE g.gap_seen OR g.gap_until > @mine::timestamptz AND @mine::timestamptz >= g.gap_from - ` + gapSQL + ` END, false),
	contact_from = CASE WHEN @contact AND g.gone THEN g.contact_at ELSE g.contact_from END,
	contact_until = CASE WHEN @contact AND g.gone THEN g.at ELSE g.contact_until END,
	contact_at = CASE WHEN @contact THEN g.at ELSE g.contact_at END
  FROM g
RETURNING w.seen_at, coalesce(g.gap, false), w.gap_from`

// Seen is a writing of a witness.
type Seen struct {
	At   time.Time     // by the database's clock
	Gap  bool          // the database was away, or its clock stepped, since anybody wrote
	From time.Time     // the last writing before a Gap
	For  time.Duration // of a Gap; below zero where the clock stepped back
}

// Witness writes that this process looks at the clock and, where contact is set,
// that it reaches Temporal. mine is what its writing before gave; the zero time
// is the first.
func (s *Store) Witness(ctx context.Context, mine time.Time, contact bool) (Seen, error) {
	var out Seen
	var from, last *time.Time
	if !mine.IsZero() {
		last = &mine
	}
	_, err := s.one(ctx, "write the witness", witnessSQL, args{"timeout": micros(s.conductorTimeout), "mine": last, "contact": contact}, func(r pgx.Row) error {
		return r.Scan(&out.At, &out.Gap, &from)
	})
	if err == nil && out.Gap && from != nil {
		out.From, out.For = *from, out.At.Sub(*from)
	}
	return out, err
}
