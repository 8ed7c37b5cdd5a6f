package worker

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/store"
)

// WitnessStore is where witnesses write.
type WitnessStore interface {
	Witness(ctx context.Context, mine time.Time, contact bool) (store.Seen, error)
}

// Witness writes, as long as it runs, that somebody looks at the database's
// clock: what was not heard while nobody could look was not said by nobody. One
// runs in each API and each orchestrator.
type Witness struct {
	Store   WitnessStore
	Contact func(context.Context) error // whether Temporal is reached; nil = it is not asked
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
			w.Log.Warn("witness", zap.Error(err))
		default:
			mine = seen.At
			if seen.Gap {
				w.Log.Warn("the database was away, or its clock has stepped: no conductor that was alive before is taken for dead now",
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
