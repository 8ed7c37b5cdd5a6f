package worker

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
)

// AddDriver adds the driver of a hardware type that only a test has.
func AddDriver(hardwareType string, create func(HardwareConfig) bmc.Driver) {
	newDriver[hardwareType] = create
}

// MakeNamespace creates the namespace of operations.
var MakeNamespace = makeNamespace

// MakeSchedule creates the reconciliation's schedule if it is missing.
func MakeSchedule(ctx context.Context, c client.Client, interval time.Duration) error {
	return makeSchedule(ctx, c, interval, nil)
}

// TriggerUnlessPaused runs a reconciliation, as a conductor that joins or leaves does.
func (r Reconciliation) TriggerUnlessPaused(ctx context.Context, log *zap.Logger) {
	r.triggerUnlessPaused(ctx, log)
}
