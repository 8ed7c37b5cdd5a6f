package store

import (
	"context"
	"errors"
	"iter"
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
	c := s.call(what)
	conn, err := c.acquire(ctx, s.pool)
	if err != nil {
		return c.fail(err)
	}
	defer conn.Release()
	if err := c.twoTrips(ctx, conn, read, decide); err != nil {
		rollback(ctx, conn)
		return c.fail(err)
	}
	return nil
}

// errLeave is returned by decide to end the transaction without changes. inTx returns nil then.
var errLeave = errors.New("nothing to write")

func (c *call) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	return pool.Acquire(ctx)
}

func (c *call) twoTrips(ctx context.Context, conn *pgxpool.Conn, read func(*pgx.Batch), decide func(*pgx.Batch) error) error {
	first := &pgx.Batch{}
	first.Queue("BEGIN")
	read(first)
	if err := c.send(ctx, conn, first); err != nil {
		return err
	}
	second := &pgx.Batch{}
	if err := decide(second); errors.Is(err, errLeave) {
		rollback(ctx, conn)
		return nil
	} else if err != nil {
		return err
	}
	audited := func(error) {}
	if second.Len() > 0 {
		audited = queueAudit(ctx, second)
	}
	second.Queue("COMMIT")
	err := c.send(ctx, conn, second)
	audited(err)
	return err
}

// send runs the statements of b within the time of the call, which grows with them.
func (c *call) send(ctx context.Context, db batcher, b *pgx.Batch) error {
	b = c.grown(b)
	ctx, cancel := c.within(ctx)
	defer cancel()
	return db.SendBatch(ctx, b).Close()
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
	c := s.call(what)
	ctx, cancel := c.within(ctx)
	defer cancel()
	err = scan(s.pool.QueryRow(ctx, sql, a))
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, c.fail(err)
}

// exec runs a statement and returns how many rows it has written.
func (s *Store) exec(ctx context.Context, what, sql string, a args) (int64, error) {
	c := s.call(what)
	ctx, cancel := c.within(ctx)
	defer cancel()
	tag, err := s.pool.Exec(ctx, sql, a)
	return tag.RowsAffected(), c.fail(err)
}

// list runs a statement and returns its rows.
func list[T any](ctx context.Context, s *Store, what, sql string, a args, scan func(pgx.Row) (T, error)) ([]T, error) {
	c := s.call(what)
	ctx, cancel := c.within(ctx)
	defer cancel()
	rows, err := s.pool.Query(ctx, sql, a)
	if err != nil {
		return nil, c.fail(err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (T, error) { return scan(r) })
	return out, c.fail(err)
}

// each runs a statement and gives its rows one by one as they arrive. They hold a connection until the loop ends. The first row has the
// time of a call; those after it are bounded by ctx, because the caller may have to wait for somebody who takes them.
func each[T any](ctx context.Context, s *Store, what, sql string, a args, scan func(pgx.Row) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		c := s.call(what)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		late := time.AfterFunc(c.statement+connectTimeout, func() { cancel(context.DeadlineExceeded) })
		defer late.Stop()
		rows, err := s.pool.Query(ctx, sql, a)
		if err == nil {
			defer rows.Close()
			for rows.Next() {
				late.Stop()
				var row T
				if row, err = scan(rows); err != nil {
					break
				}
				if !yield(row, nil) {
					return
				}
			}
			if err == nil {
				err = rows.Err()
			}
		}
		if err == nil {
			return
		}
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = context.DeadlineExceeded
		}
		var none T
		yield(none, c.fail(err))
	}
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
