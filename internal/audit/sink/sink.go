// Package sink sends the audit out of the database: to a file, or to a syslog server. Of all processes that have the setting one sends. How
// far it has got is in the database, so that each row is sent at least once, whichever process dies. A row that is sent twice has the same seq.
package sink

import (
	"context"
	"encoding/json"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/events"
)

// Store is the audit as a sink reads it.
type Store interface {
	// LeaseAuditSink makes holder the process that sends to a sink, unless another one holds it, and returns up to which row it was sent.
	LeaseAuditSink(ctx context.Context, name, holder string, lease time.Duration) (through int64, mine bool, err error)
	// LookAudit tells who writes rows now.
	LookAudit(ctx context.Context) (events.Look, error)
	// AuditAfter returns rows after one number and up to another, in their order.
	AuditAfter(ctx context.Context, after, through int64, limit int) ([]audit.Entry, error)
	// AuditSent records up to which row was sent. mine is false if another process sends now.
	AuditSent(ctx context.Context, name, holder string, through int64) (mine bool, err error)
}

// Writer is where rows go. Write returns when they are safe there, as far as the writer can tell.
type Writer interface {
	Write(ctx context.Context, lines [][]byte) error
	Close() error
}

const (
	lease      = 15 * time.Second
	leaseAgain = 5 * time.Second
	pause      = time.Second // between two looks
	longPause  = 30 * time.Second
	batch      = 500
)

// Sink sends the audit to a Writer.
type Sink struct {
	Name   string // file or syslog
	Holder string // this process
	Store  Store
	Writer Writer
	Log    *zap.Logger

	horizon events.Horizon
	leased  time.Time // when the lease was renewed last; zero = another process has it
	through int64
}

// Run sends until ctx ends. What fails is tried again.
func (s *Sink) Run(ctx context.Context) {
	defer func() { _ = s.Writer.Close() }() // what was written was synced
	wait := pause
	for ctx.Err() == nil {
		more, err := s.step(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			s.Log.Warn("the audit could not be sent; it is tried again", zap.String("sink", s.Name), zap.Error(err))
			s.leased = time.Time{}
			wait = min(2*wait, longPause)
		case more:
			continue
		default:
			wait = pause
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// step sends a batch of rows, and reports whether there may be more.
func (s *Sink) step(ctx context.Context) (more bool, err error) {
	if time.Since(s.leased) > leaseAgain {
		through, mine, err := s.Store.LeaseAuditSink(ctx, s.Name, s.Holder, lease)
		if err != nil || !mine {
			s.leased = time.Time{}
			return false, err
		}
		s.leased, s.through = time.Now(), through
	}
	look, err := s.Store.LookAudit(ctx)
	if err != nil {
		return false, err
	}
	settled, known := s.horizon.Settle(look)
	if !known || settled <= s.through {
		return false, nil
	}
	rows, err := s.Store.AuditAfter(ctx, s.through, settled, batch)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	lines := make([][]byte, len(rows))
	for i := range rows {
		if lines[i], err = json.Marshal(&rows[i]); err != nil {
			return false, err
		}
	}
	if err := s.Writer.Write(ctx, lines); err != nil {
		return false, err
	}
	s.through = rows[len(rows)-1].Seq
	mine, err := s.Store.AuditSent(ctx, s.Name, s.Holder, s.through)
	if err != nil || !mine {
		s.leased = time.Time{}
	}
	return len(rows) == batch, err
}
