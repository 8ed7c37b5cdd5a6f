package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// args are a statement's parameters by name. Strict: one too many or too few is
// a mistake of the program and an error.
type args = pgx.StrictNamedArgs

// rollbackTime bounds giving a connection back clean; it is closed otherwise.
const rollbackTime = 2 * time.Second

// inTx is a transaction in two round trips: what read queues goes with BEGIN,
// what decide queues goes with COMMIT. An error of either, or of decide itself,
// rolls back. decide sees what read's statements gave to their callbacks.
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

// errLeave ends a transaction without changes and without an error.
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

// one runs a statement that gives at most one row; found = false where it gave none.
func (s *Store) one(ctx context.Context, what, sql string, a args, scan func(pgx.Row) error) (found bool, err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	err = scan(s.pool.QueryRow(ctx, sql, a))
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, mapError(what, err)
}

// exec runs a statement and tells how many rows it touched.
func (s *Store) exec(ctx context.Context, what, sql string, a args) (int64, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	tag, err := s.pool.Exec(ctx, sql, a)
	return tag.RowsAffected(), mapError(what, err)
}

// list runs a statement and scans its rows.
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

// maybe turns "no row" of a queued statement into found = false.
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
