package worker

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/coverage"
)

// ProcessStore records which processes of Temper run.
type ProcessStore interface {
	SeeProcess(ctx context.Context, p coverage.Process, first bool) (at time.Time, err error)
	ForgetProcess(ctx context.Context, p coverage.Process) error
}

// Presence records at intervals that this process runs, and how far its clock is ahead of the
// database's. One runs in each API, orchestrator and conductor.
type Presence struct {
	Store   ProcessStore
	Process coverage.Process // Role, Name, Version
	Every   time.Duration
	Now     func() time.Time // the process's clock
	Log     *zap.Logger
}

// maxClockError is the largest error of a clock's difference that is recorded.
const maxClockError = time.Second

// Run records it at once and then every few seconds, until ctx ends. Then it deletes the record.
func (p *Presence) Run(ctx context.Context) {
	tick := time.NewTicker(p.Every)
	defer tick.Stop()
	for first := true; ; {
		if err := p.write(ctx, first); err == nil {
			first = false
		} else if ctx.Err() == nil {
			p.Log.Warn("it could not be recorded that this process runs", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if err := p.Store.ForgetProcess(leave, p.Process); err != nil {
				p.Log.Warn("it could not be recorded that this process stops", zap.Error(err))
			}
			return
		case <-tick.C:
		}
	}
}

func (p *Presence) write(ctx context.Context, first bool) error {
	ctx, cancel := context.WithTimeout(ctx, p.Every)
	defer cancel()
	before := p.Now()
	at, err := p.Store.SeeProcess(ctx, p.Process, first)
	if err != nil {
		return err
	}
	// The database read its clock at some time between sending and receiving.
	half := p.Now().Sub(before) / 2
	p.Process.Ahead, p.Process.Error = nil, half
	if half <= maxClockError {
		ahead := before.Add(half).Sub(at)
		p.Process.Ahead = &ahead
	}
	return nil
}
