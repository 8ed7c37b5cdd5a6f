package worker

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/webhook"
)

// Webhooks is what an orchestrator needs to send events to webhooks. Orchestrators do that because conductors may stand in
// networks from which no endpoint is reached.
type Webhooks struct {
	Store  webhook.Store // nil = nothing is sent
	Events events.Source
	Sender *webhook.Sender
	GiveUp time.Duration // how old an event becomes before it is a dead letter
}

// run sends until ctx ends.
func (w Webhooks) run(ctx context.Context, log *zap.Logger) error {
	if w.Store == nil {
		return nil
	}
	hub := events.NewHub(events.Config{Source: w.Events, Log: log, Streams: webhook.Max})
	defer hub.Close()
	d := webhook.Dispatcher{Store: w.Store, Hub: hub, Sender: w.Sender, GiveUp: w.GiveUp, Log: log}
	return d.Run(ctx)
}
