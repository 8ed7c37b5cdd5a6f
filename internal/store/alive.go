package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// The function conductor_alive of the schema says who is alive. Its @timeout is
// conductor_heartbeat_timeout in microseconds.

// WitnessEvery is the time between two writings of a witness, for a timeout of
// conductors' heartbeats: three seconds or, of shorter timeouts, a fifth.
func WitnessEvery(conductorTimeout time.Duration) time.Duration {
	return min(conductorTimeout/5, 3*time.Second)
}

// The row is locked before the clock is read. Otherwise a process that waited for another one's
// write would take it for a write from the future.
const witnessSQL = `
WITH held AS MATERIALIZED (SELECT w.*, w AS was FROM witness w FOR UPDATE),
timed AS MATERIALIZED (SELECT *, clock_timestamp() AS at FROM held),
g AS MATERIALIZED (SELECT *,
	seen_at NOT BETWEEN at - witness_gap(@timeout) AND at + interval '1 second' AS gap,
	contact_at NOT BETWEEN at - witness_gap(@timeout) AND at + interval '1 second' AS gone FROM timed),
ended AS MATERIALIZED (SELECT 'postgresql' AS part, g.seen_at AS since, g.at FROM g WHERE g.gap AND g.seen_at < g.at
	UNION ALL SELECT 'temporal', temporal_lost_at(g.was, g.at, @timeout), g.at FROM g WHERE @contact),
` + recordOutagesSQL + `
UPDATE witness w SET seen_at = g.at,
	gap_from = CASE WHEN g.gap THEN g.seen_at ELSE g.gap_from END,
	gap_until = CASE WHEN g.gap THEN g.at ELSE g.gap_until END,
	gap_seen = coalesce(CASE WHEN g.gap THEN @mine::timestamptz >= g.seen_at - witness_gap(@timeout)
		ELSE g.gap_seen OR g.gap_until > @mine::timestamptz AND @mine::timestamptz >= g.gap_from - witness_gap(@timeout) END, false),
	contact_from = CASE WHEN @contact AND g.gone THEN g.contact_at ELSE g.contact_from END,
	contact_until = CASE WHEN @contact AND g.gone THEN g.at ELSE g.contact_until END,
	contact_at = CASE WHEN @contact THEN g.at ELSE g.contact_at END
  FROM g
RETURNING w.seen_at, coalesce(g.gap, false), w.gap_from`

// contactSQL is the part of a conductor's heartbeat (beat) that records that the conductor has just reached Temporal, and the outage
// of Temporal that has ended with that. The newest contact of anybody is written once a second, by whoever comes first.
const contactSQL = `
contact AS (
	UPDATE witness w SET contact_at = t.at,
		contact_from = CASE WHEN in_witness_gap(w.contact_at, witness_gap(@timeout)) THEN w.contact_at ELSE w.contact_from END,
		contact_until = CASE WHEN in_witness_gap(w.contact_at, witness_gap(@timeout)) THEN t.at ELSE w.contact_until END
	  FROM (SELECT clock_timestamp() AS at) AS t
	 WHERE @contact AND EXISTS (SELECT FROM beat) AND in_witness_gap(w.contact_at, interval '1 second') IS NOT FALSE
	RETURNING t.at),
ended AS MATERIALIZED (SELECT 'temporal' AS part, temporal_lost_at(w, c.at, @timeout) AS since, c.at FROM contact c CROSS JOIN witness w),
` + recordOutagesSQL

// recordOutagesSQL records the outages that are over (ended), and forgets old ones.
const recordOutagesSQL = `
told AS (INSERT INTO outages (part, from_at, until_at) SELECT l.part, l.since, l.at FROM ended l WHERE l.since IS NOT NULL),
forgotten AS (DELETE FROM outages o WHERE EXISTS (SELECT FROM ended l WHERE l.since IS NOT NULL) AND o.id <= (SELECT max(x.id) FROM outages x) - @kept)`

// keptOutages is how many outages are kept, the latest ones.
const keptOutages = 1000

// Seen is what a process found when it wrote the row of witness.
type Seen struct {
	At   time.Time     // the time of the write, by the database's clock
	Gap  bool          // the database was away, or its clock stepped, since the latest write of any process
	From time.Time     // the time of that write, if there was a Gap
	For  time.Duration // the length of the Gap; below zero if the clock stepped back
}

// Witness records that this process can write to the database and, if contact is set, that it
// reaches Temporal. If nobody could for a while, it also records that outage. An outage of the database is not one
// of Temporal, too, although nobody could record contact with Temporal meanwhile. mine is the At of its previous call, the zero time on the first one.
func (s *Store) Witness(ctx context.Context, mine time.Time, contact bool) (Seen, error) {
	var out Seen
	var from, last *time.Time
	if !mine.IsZero() {
		last = &mine
	}
	_, err := s.one(ctx, "write the witness", witnessSQL, args{"timeout": micros(s.conductorTimeout), "mine": last, "contact": contact, "kept": keptOutages}, func(r pgx.Row) error {
		return r.Scan(&out.At, &out.Gap, &from)
	})
	if err == nil && out.Gap && from != nil {
		out.From, out.For = *from, out.At.Sub(*from)
	}
	return out, err
}
