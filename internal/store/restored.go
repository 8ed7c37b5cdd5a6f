package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// skippedNumbers is how many numbers are skipped after a restore: more than were given between the backup and the loss.
const skippedNumbers = 1_000_000

// skipNumbersSQL skips numbers of operations and events. It marks the skipped events as deleted, so that readers which have seen some of
// them get a reset (package events).
const skipNumbersSQL = `
WITH skipped AS (
	SELECT setval('operations_id_seq', coalesce(pg_sequence_last_value('operations_id_seq'), 0) + @skipped),
		setval('events_seq_seq', coalesce(pg_sequence_last_value('events_seq_seq'), 0) + @skipped) AS event)
UPDATE event_feed f SET deleted_through = skipped.event FROM skipped`

// SkipNumbers is called after the database at url was restored from a backup. Operations and events that follow get numbers
// that none has had which the backup does not know, so that no client takes one for another.
func SkipNumbers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTime)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return mapError("connect to the database", redact(err, url))
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is left to do on it
	_, err = c.Exec(ctx, skipNumbersSQL, pgx.NamedArgs{"skipped": skippedNumbers})
	return mapError("skip numbers", err)
}
