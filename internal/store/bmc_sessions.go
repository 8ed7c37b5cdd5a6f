package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// openedSessionSQL also deletes some rows that are older than any BMC keeps a session that nobody uses.
const openedSessionSQL = `
WITH old AS (
	DELETE FROM bmc_sessions s USING (
		SELECT o.address, o.path FROM bmc_sessions o WHERE o.opened_at < clock_timestamp() - interval '1 day' ORDER BY o.opened_at LIMIT 100 FOR UPDATE SKIP LOCKED) o
	 WHERE s.address = o.address AND s.path = o.path),
opened AS (
	INSERT INTO bmc_sessions (address, path, created, conductor) SELECT @address, @path::text, @created, @conductor WHERE @path <> ''
	ON CONFLICT (address, path) DO UPDATE SET created = excluded.created, conductor = excluded.conductor, opened_at = excluded.opened_at)
SELECT s.path, s.created FROM bmc_sessions s
 WHERE s.address = @address AND s.path <> @path AND s.opened_at >= clock_timestamp() - interval '1 day'
   AND NOT EXISTS (SELECT FROM conductors c, witness w WHERE c.hostname = s.conductor AND c.started_at <= s.opened_at AND conductor_alive(c, w, @timeout))
 ORDER BY s.opened_at LIMIT 16`

const endedSessionsSQL = `DELETE FROM bmc_sessions WHERE address = @address AND path = ANY(@paths)`

// OpenedBMCSession remembers the session that a conductor has opened with the BMC at address, if its path is not empty. It
// returns the sessions with this BMC, the oldest first and at most 16, whose conductors have died, were forgotten, or have been
// started again since.
func (s *Store) OpenedBMCSession(ctx context.Context, conductor, address string, opened node.BMCSession) ([]node.BMCSession, error) {
	a := args{"address": address, "path": opened.Path, "created": opened.Created, "conductor": conductor, "timeout": micros(s.conductorTimeout)}
	return list(ctx, s, "remember a session with a BMC", openedSessionSQL, a, func(r pgx.Row) (left node.BMCSession, err error) {
		err = r.Scan(&left.Path, &left.Created)
		return left, err
	})
}

// EndedBMCSessions forgets sessions with the BMC at address.
func (s *Store) EndedBMCSessions(ctx context.Context, address string, paths []string) error {
	_, err := s.exec(ctx, "forget sessions with a BMC", endedSessionsSQL, args{"address": address, "paths": paths})
	return err
}
