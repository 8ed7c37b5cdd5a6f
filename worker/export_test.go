package worker

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
)

// AddDriver adds the line of a hardware type that a test has of its own.
func AddDriver(hardwareType string, create func(HardwareConfig) bmc.Driver) {
	newDriver[hardwareType] = create
}

// MakeNamespace makes the namespace of operations.
var MakeNamespace = makeNamespace

// MakeSchedule makes the reconciliation's schedule where it is missing.
func MakeSchedule(ctx context.Context, c client.Client, interval time.Duration) error {
	return makeSchedule(ctx, c, interval, nil)
}

// TriggerUnlessPaused is what a conductor does that joins or leaves.
func (r Reconciliation) TriggerUnlessPaused(ctx context.Context, log *zap.Logger) {
	r.triggerUnlessPaused(ctx, log)
}
