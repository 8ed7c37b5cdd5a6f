package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// args are the parameters of a statement by name. Strict means that a parameter too many or too few
// is an error.
type args = pgx.StrictNamedArgs

// rollbackTime is how long a rollback may take. The pool closes a connection whose rollback takes
// longer.
const rollbackTime = 2 * time.Second

// inTx runs a transaction in two round trips: the statements that read queues are sent with BEGIN,
// those that decide queues with COMMIT. decide is called when the callbacks of read's statements have
// got their results. An error of a statement, or of decide, rolls the transaction back.
func (s *Store) inTx(ctx context.Context, what string, read func(*pgx.Batch), decide func(*pgx.Batch) error) error {
	ctx, cancel := s.within(ctx)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return mapError(what, err)
	}
	defer conn.Release()
	if err := twoTrips(ctx, conn, read, decide); err != nil {
		rollback(ctx, conn)
		return mapError(what, err)
	}
	return nil
}

// errLeave is returned by decide to end the transaction without changes. inTx returns nil then.
var errLeave = errors.New("nothing to write")

func twoTrips(ctx context.Context, conn *pgxpool.Conn, read func(*pgx.Batch), decide func(*pgx.Batch) error) error {
	first := &pgx.Batch{}
	first.Queue("BEGIN")
	read(first)
	if err := conn.SendBatch(ctx, first).Close(); err != nil {
		return err
	}
	second := &pgx.Batch{}
	if err := decide(second); errors.Is(err, errLeave) {
		rollback(ctx, conn)
		return nil
	} else if err != nil {
		return err
	}
	second.Queue("COMMIT")
	return conn.SendBatch(ctx, second).Close()
}

func rollback(ctx context.Context, conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	_, _ = conn.Exec(ctx, "ROLLBACK") // a connection that is not idle is closed when it is released
}

// one runs a statement that returns at most one row. found is false if it returns none.
func (s *Store) one(ctx context.Context, what, sql string, a args, scan func(pgx.Row) error) (found bool, err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	err = scan(s.pool.QueryRow(ctx, sql, a))
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, mapError(what, err)
}

// exec runs a statement and returns how many rows it has written.
func (s *Store) exec(ctx context.Context, what, sql string, a args) (int64, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	tag, err := s.pool.Exec(ctx, sql, a)
	return tag.RowsAffected(), mapError(what, err)
}

// list runs a statement and returns its rows.
func list[T any](ctx context.Context, s *Store, what, sql string, a args, scan func(pgx.Row) (T, error)) ([]T, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	rows, err := s.pool.Query(ctx, sql, a)
	if err != nil {
		return nil, mapError(what, err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (T, error) { return scan(r) })
	return out, mapError(what, err)
}

// maybe returns a callback for a queued statement that may return no row. It sets found to whether
// there was one.
func maybe(found *bool, scan func(pgx.Row) error) func(pgx.Row) error {
	return func(r pgx.Row) error {
		err := scan(r)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		*found = err == nil
		return err
	}
}
