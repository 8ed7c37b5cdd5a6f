package worker

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
)

// AddDriver adds the driver of a hardware type that only a test has.
func AddDriver(hardwareType string, create func(HardwareConfig) bmc.Driver) {
	newDriver[hardwareType] = create
}

// Keeper is what an orchestrator has to keep what is in Temporal.
type Keeper struct{ keeper }

// NewKeeper returns the keeper of an orchestrator of that name.
func NewKeeper(s Setup, store SetupStore, name string, stuck time.Duration) *Keeper {
	return &Keeper{keeper{setup: s, store: store, name: name, stuck: stuck, log: zap.NewNop()}}
}

// Operations keeps the namespace of operations.
func (k *Keeper) Operations(ctx context.Context) error { return k.keepOperations(ctx) }

// Schedule keeps the schedule among the operations.
func (k *Keeper) Schedule(ctx context.Context) error {
	return k.keepSchedule(ctx, k.setup.Operations, nil)
}

// TriggerUnlessPaused runs a reconciliation, as a conductor that joins or leaves does.
func (s Setup) TriggerUnlessPaused(ctx context.Context, log *zap.Logger) {
	s.triggerUnlessPaused(ctx, log)
}
