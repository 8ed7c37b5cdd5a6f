package events

import "context"

// Source is where events are.
type Source interface {
	// FollowEvents opens a connection of its own, which hears of new events.
	FollowEvents(ctx context.Context) (Feed, error)
	// Events returns events in the order of their numbers. If deleted is above q.After, some of them may have been deleted.
	Events(ctx context.Context, q Query) (list []Event, deleted int64, err error)
}

// Feed is a connection that hears of new events. It is for one goroutine.
type Feed interface {
	Look(ctx context.Context) (Look, error)
	// Events is Source.Events over this connection.
	Events(ctx context.Context, q Query) (list []Event, deleted int64, err error)
	// Wait returns when new events were announced, or with ctx's error.
	Wait(ctx context.Context) error
	Close()
}

// Query asks for events with After < Seq <= Through, at most Limit of them. Whoever asks knows that they are settled.
type Query struct {
	After, Through int64
	Filter         Filter
	Limit          int
}
