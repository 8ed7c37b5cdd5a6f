package webhook

import (
	"context"
	"time"
)

// Store keeps what has to survive a crash.
type Store interface {
	// LeaseWebhooks leases to the holder, for the time, all enabled webhooks that nobody else has, and returns those that it has.
	LeaseWebhooks(ctx context.Context, holder string, d time.Duration) ([]Leased, error)
	// ReleaseWebhooks ends the leases of the holder.
	ReleaseWebhooks(ctx context.Context, holder string) error
	// The following return fault.Lost if the lease is not the newest, or the webhook was disabled or deleted.

	// WebhookDelivered records that all events through the number were delivered, n of them since the last call.
	WebhookDelivered(ctx context.Context, l Lease, through int64, n int) error
	// WebhookFailed records a failed try.
	WebhookFailed(ctx context.Context, l Lease, failure string) error
	// GiveUpEvent makes an event a dead letter. The webhook goes on after it.
	GiveUpEvent(ctx context.Context, l Lease, d DeadLetter) error
	// DeadLettersToSend are dead letters that somebody wants sent once more, oldest first.
	DeadLettersToSend(ctx context.Context, l Lease, limit int) ([]DeadLetter, error)
	// WebhookRedelivered deletes a dead letter that was delivered. With a failure it is kept.
	WebhookRedelivered(ctx context.Context, l Lease, d DeadLetter, failure string) error
}

// Lease is the right to send for a webhook. A newer one has a greater number.
type Lease struct{ Webhook, Number int64 }

// Leased is a webhook that this process sends for.
type Leased struct {
	Webhook
	Lease     Lease
	Secret    string
	Redeliver bool // there are dead letters to send once more
}
