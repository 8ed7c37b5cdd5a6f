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
WITH held AS MATERIALIZED (SELECT * FROM witness FOR UPDATE),
timed AS MATERIALIZED (SELECT *, clock_timestamp() AS at FROM held),
g AS MATERIALIZED (SELECT *,
	seen_at NOT BETWEEN at - witness_gap(@timeout) AND at + interval '1 second' AS gap,
	contact_at NOT BETWEEN at - witness_gap(@timeout) AND at + interval '1 second' AS gone FROM timed),
lost AS MATERIALIZED (SELECT 'postgresql' AS part, g.seen_at AS since, g.at FROM g WHERE g.gap AND g.seen_at < g.at
	UNION ALL SELECT 'temporal', greatest(g.contact_at, before.gap_until), g.at
	  FROM g CROSS JOIN LATERAL (SELECT CASE WHEN g.gap THEN g.seen_at ELSE g.gap_from END AS gap_from, CASE WHEN g.gap THEN g.at ELSE g.gap_until END AS gap_until) AS known
		LEFT JOIN LATERAL (SELECT known.gap_until WHERE g.contact_at BETWEEN known.gap_from - witness_gap(@timeout) AND known.gap_until) AS before ON true
	 WHERE @contact AND g.gone AND greatest(g.contact_at, before.gap_until) < g.at - witness_gap(@timeout)),
told AS (INSERT INTO outages (part, from_at, until_at) SELECT l.part, l.since, l.at FROM lost l),
forgotten AS (DELETE FROM outages o WHERE EXISTS (SELECT FROM lost) AND o.id <= (SELECT max(x.id) FROM outages x) - @kept)
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
