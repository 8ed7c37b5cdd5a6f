package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// skippedNumbers is how many numbers are skipped after a restore: more than were given between the backup and the loss.
const skippedNumbers = 1_000_000

const (
	// skipNumbersSQL skips numbers of operations, rows of the audit and events. It marks the skipped events as deleted, so that readers which have seen some of
	// them get a reset (package events).
	skipNumbersSQL = `
WITH skipped AS (
	SELECT setval('operations_id_seq', coalesce(pg_sequence_last_value('operations_id_seq'), 0) + @skipped),
		setval('audit_seq', coalesce(pg_sequence_last_value('audit_seq'), 0) + @skipped),
		setval('events_seq_seq', coalesce(pg_sequence_last_value('events_seq_seq'), 0) + @skipped) AS event)
UPDATE event_feed f SET deleted_through = skipped.event FROM skipped`

	forgetProcessesSQL = `DELETE FROM processes`

	// Nodes that a person has in maintenance keep its reason.
	unfinishedSQL = `
SELECT n.uuid::text FROM nodes n
 WHERE NOT (n.maintenance AND NOT n.maintenance_by_fault)
   AND (n.owed <> '[]' OR EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL))
 ORDER BY n.id`
)

const (
	restoredBy     = "temper migrate --restored"
	restoredReason = "the database was restored from a backup while this node was worked on: compare it with its server, then end the maintenance"
)

// Restored is called after the database at url was restored from a backup, while no process of Temper runs. Operations and
// events that follow get numbers that were given to no others. Nodes on which an operation was open, or which owe an undo, go into
// maintenance, because the server may have been deployed again since: as long as that lasts, nothing is undone on it. Restored returns
// how many nodes these are.
func Restored(ctx context.Context, url string) (nodes int, err error) {
	ctx, cancel := context.WithTimeout(ctx, migrateTime)
	defer cancel()
	s, err := Open(ctx, Config{URL: url, MaxConns: 2})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if _, err := s.exec(ctx, "skip numbers", skipNumbersSQL, args{"skipped": skippedNumbers}); err != nil {
		return 0, err
	}
	if _, err := s.exec(ctx, "forget the processes of before", forgetProcessesSQL, args{}); err != nil {
		return 0, err
	}
	unfinished, err := list(ctx, s, "list unfinished work", unfinishedSQL, args{}, func(r pgx.Row) (uuid string, err error) { return uuid, r.Scan(&uuid) })
	for _, uuid := range unfinished { // one after the other: each pauses its operation by the rules of Go
		if _, err := s.SetMaintenance(ctx, uuid, true, restoredReason, restoredBy); err != nil {
			return nodes, err
		}
		nodes++
	}
	return nodes, err
}
