package worker

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/store"
)

// WitnessStore records when a process could write to the database.
type WitnessStore interface {
	Witness(ctx context.Context, mine time.Time, contact bool) (store.Seen, error)
}

// Witness records at intervals that this process can write to the database. One runs in each API
// and each orchestrator. A gap in these records means that the database was unavailable or its
// clock was changed. Then missing heartbeats prove nothing about a conductor.
type Witness struct {
	Store   WitnessStore
	Contact func(context.Context) error // health check of Temporal; nil = none
	Timeout time.Duration               // of conductors' heartbeats
	Log     *zap.Logger
}

// Run writes at once and then every few seconds, until ctx ends.
func (w *Witness) Run(ctx context.Context) error {
	every := store.WitnessEvery(w.Timeout)
	tick := time.NewTicker(every)
	defer tick.Stop()
	var mine time.Time
	for {
		seen, err := w.write(ctx, mine, every)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			w.Log.Warn("the witness could not be written", zap.Error(err))
		default:
			mine = seen.At
			if seen.Gap {
				w.Log.Warn("the database was unavailable, or its clock was changed: conductors that were alive before still count as alive",
					zap.Time("since", seen.From), zap.Duration("for", seen.For))
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w *Witness) write(ctx context.Context, mine time.Time, every time.Duration) (store.Seen, error) {
	reached := false
	if w.Contact != nil {
		ask, cancel := context.WithTimeout(ctx, min(healthTimeout, every*2/3))
		reached = w.Contact(ask) == nil
		cancel()
	}
	ctx, cancel := context.WithTimeout(ctx, every)
	defer cancel()
	return w.Store.Witness(ctx, mine, reached)
}
