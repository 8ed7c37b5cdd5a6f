package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/coverage"
)

const (
	seeProcessSQL = `
INSERT INTO processes AS p (role, name, version, clock_ahead, clock_error)
VALUES (@role, @name, @version, @ahead::bigint * interval '1 microsecond', @error::bigint * interval '1 microsecond')
ON CONFLICT (role, name) DO UPDATE SET version = excluded.version, seen_at = clock_timestamp(),
	started_at = CASE WHEN @first THEN clock_timestamp() ELSE p.started_at END,
	clock_ahead = excluded.clock_ahead, clock_error = excluded.clock_error
RETURNING p.seen_at`

	conductorVersionsSQL = `SELECT name, version FROM processes WHERE role = 'conductor' ORDER BY name LIMIT 10000`

	// Where mine is missing, nobody has started after it.
	startedLastSQL = `
SELECT NOT EXISTS (SELECT FROM processes mine JOIN processes p ON p.role = mine.role AND (p.started_at, p.name) > (mine.started_at, mine.name) CROSS JOIN witness w
	WHERE mine.role = 'orchestrator' AND mine.name = @name AND process_alive(p, w, @timeout))`

	forgetProcessSQL = `DELETE FROM processes WHERE role = @role AND name = @name`
)

// SeeProcess records that a process runs: its role, name, version and clock. It returns the
// database's time. first says that the process has not called it before.
func (s *Store) SeeProcess(ctx context.Context, p coverage.Process, first bool) (at time.Time, err error) {
	a := args{"role": p.Role, "name": p.Name, "version": p.Version, "first": first, "ahead": nil, "error": nil}
	if p.Ahead != nil {
		a["ahead"], a["error"] = p.Ahead.Microseconds(), p.Error.Microseconds()
	}
	_, err = s.one(ctx, "note that the process runs", seeProcessSQL, a, func(r pgx.Row) error { return r.Scan(&at) })
	return at, err
}

// ForgetProcess deletes the record of a process that stops.
func (s *Store) ForgetProcess(ctx context.Context, p coverage.Process) error {
	_, err := s.exec(ctx, "note that the process stops", forgetProcessSQL, args{"role": p.Role, "name": p.Name})
	return err
}

// ConductorVersions returns the version of each conductor that runs or died without a word, by name.
func (s *Store) ConductorVersions(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	_, err := list(ctx, s, "list the versions of conductors", conductorVersionsSQL, args{}, func(r pgx.Row) (struct{}, error) {
		var name, version string
		err := r.Scan(&name, &version)
		out[name] = version
		return struct{}{}, err
	})
	return out, err
}

// StartedLast reports whether no live orchestrator has started after the one of that name.
func (s *Store) StartedLast(ctx context.Context, name string) (last bool, err error) {
	_, err = s.one(ctx, "ask which orchestrator has started last", startedLastSQL, args{"name": name, "timeout": micros(s.conductorTimeout)}, func(r pgx.Row) error { return r.Scan(&last) })
	return last, err
}
