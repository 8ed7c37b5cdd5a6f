package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
)

// call is one method's conversation with the database, and the limits on its time.
type call struct {
	what            string
	begun           time.Time
	statement, lock time.Duration // 0 = not known
}

func (s *Store) call(what string) *call {
	return &call{what: what, begun: time.Now(), statement: s.statement, lock: s.lock}
}

// A statement may take growsBy longer for each growsFrom bytes that it writes: a config drive of 64 MiB gets 32 s more.
const (
	growsFrom = 1 << 20
	growsBy   = 500 * time.Millisecond
)

// growth returns how much longer the statements of b may take because of the size of their values.
func growth(b *pgx.Batch) time.Duration {
	size := 0
	for _, q := range b.QueuedQueries {
		for _, v := range q.Arguments {
			named, _ := v.(args)
			for _, v := range named {
				size += sizeOf(v)
			}
		}
	}
	return time.Duration(size/growsFrom) * growsBy
}

func sizeOf(v any) (size int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	case json.RawMessage:
		return len(v)
	case []string:
		for _, one := range v {
			size += len(one)
		}
	case [][]byte:
		for _, one := range v {
			size += len(one)
		}
	}
	return size
}

const statementTimeoutSQL = `SELECT set_config('statement_timeout', @timeout, true)`

// grown returns b with the time that its values need, which its transaction and c have then.
func (c *call) grown(b *pgx.Batch) *pgx.Batch {
	by := growth(b)
	if by == 0 {
		return b
	}
	c.statement += by
	first := &pgx.Batch{}
	first.Queue(statementTimeoutSQL, args{"timeout": millis(c.statement)})
	first.QueuedQueries = append(first.QueuedQueries, b.QueuedQueries...)
	return first
}

// within bounds the call, which its caller may have bounded tighter. The server ends a statement before.
func (c *call) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, c.begun.Add(c.statement+connectTimeout))
}

// fail is mapError with the time that ran out.
func (c *call) fail(err error) error {
	err = mapError(c.what, err)
	if fault.CodeOf(err) != fault.DatabaseTimeout || c.begun.IsZero() {
		return err
	}
	var by stopped
	switch stopped := errors.As(err, &by); {
	case stopped && by.Code == lockNotAvailable:
		return fault.Coded(fault.DatabaseTimeout, "%w (it waits for a lock for at most %s)", err, c.lock)
	case stopped:
		return fault.Coded(fault.DatabaseTimeout, "%w (a statement may take %s)", err, c.statement)
	}
	return fault.Coded(fault.DatabaseTimeout, "%w (after %s)", err, time.Since(c.begun).Round(time.Millisecond))
}

// within bounds a method that its caller did not bound tighter.
func (s *Store) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return s.call("").within(ctx)
}

// committedUnknown reports whether a transaction whose COMMIT was sent may have been committed in spite of err. If PostgreSQL
// itself has stopped a statement, it has undone the transaction.
func committedUnknown(err error) bool {
	var by stopped
	return unanswered(err) && !errors.As(err, &by)
}

// unanswered reports whether the database gave no answer, or not in time.
func unanswered(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.DatabaseUnavailable || code == fault.DatabaseTimeout
}
