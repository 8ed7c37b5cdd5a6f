package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/webhook"
)

const (
	// A lease that is renewed keeps its number. A lease that ends later than now plus its length was given before the clock stepped
	// back, and has ended.
	leaseWebhooksSQL = `
WITH free AS (
	SELECT w.id, w.leased_by <> @holder AS other FROM webhooks w
	 WHERE w.enabled AND (w.leased_by = @holder OR w.leased_until IS NULL OR w.leased_until NOT BETWEEN clock_timestamp() AND clock_timestamp() + @lease * interval '1 microsecond' + interval '1 second')
	 ORDER BY w.id FOR NO KEY UPDATE)
UPDATE webhooks w SET lease = w.lease + free.other::integer, leased_by = @holder, leased_until = clock_timestamp() + @lease * interval '1 microsecond'
  FROM free WHERE w.id = free.id
RETURNING ` + webhookColumns + `, w.seal, w.ciphertext, w.lease,
	EXISTS (SELECT FROM webhook_dead_letters d WHERE d.webhook_id = w.id AND d.redeliver)`

	releaseWebhooksSQL = `UPDATE webhooks SET leased_by = '', leased_until = NULL WHERE leased_by = @holder`

	// A process without the key leaves the webhook to one that has it.
	webhookUnreadableSQL = `
UPDATE webhooks w SET failing_since = coalesce(w.failing_since, clock_timestamp()), attempts = w.attempts + 1, failures = w.failures + 1, last_error = @error,
	leased_by = '', leased_until = NULL
 WHERE w.id = @id AND w.lease = @lease AND w.enabled`

	webhookDeliveredSQL = `
UPDATE webhooks w SET delivered_through = greatest(w.delivered_through, @through), deliveries = w.deliveries + @count,
	delivered_at = CASE WHEN @count > 0 THEN clock_timestamp() ELSE w.delivered_at END,
	failing_since = CASE WHEN @count = 0 THEN w.failing_since END,
	attempts = CASE WHEN @count = 0 THEN w.attempts ELSE 0 END,
	last_error = CASE WHEN @count = 0 THEN w.last_error ELSE '' END
 WHERE w.id = @id AND w.lease = @lease AND w.enabled`

	webhookFailedSQL = `
UPDATE webhooks w SET failing_since = coalesce(w.failing_since, clock_timestamp()), attempts = w.attempts + 1, failures = w.failures + 1, last_error = @error
 WHERE w.id = @id AND w.lease = @lease AND w.enabled`

	giveUpEventSQL = `
WITH mine AS (
	UPDATE webhooks w SET delivered_through = @seq WHERE w.id = @id AND w.lease = @lease AND w.enabled RETURNING w.id),
old AS (
	DELETE FROM webhook_dead_letters d USING mine
	 WHERE d.webhook_id = mine.id AND d.seq <= (
		SELECT x.seq FROM webhook_dead_letters x WHERE x.webhook_id = mine.id ORDER BY x.seq DESC OFFSET @most - 1 LIMIT 1))
INSERT INTO webhook_dead_letters (webhook_id, seq, message_id, type, body, at, error)
SELECT mine.id, @seq, @message, @type, @body, @at, @error FROM mine
ON CONFLICT (webhook_id, seq) DO UPDATE SET message_id = excluded.message_id, type = excluded.type, body = excluded.body, at = excluded.at, error = excluded.error`

	deadLettersToSendSQL = `
SELECT d.seq, d.message_id, d.type, d.body, d.at, d.given_up_at, d.error, d.redeliver
  FROM webhook_dead_letters d JOIN webhooks w ON w.id = d.webhook_id
 WHERE w.id = @id AND w.lease = @lease AND w.enabled AND d.redeliver ORDER BY d.seq LIMIT @limit`

	redeliveredSQL = `
WITH mine AS (
	UPDATE webhooks w SET deliveries = w.deliveries + CASE WHEN @error = '' THEN 1 ELSE 0 END, failures = w.failures + CASE WHEN @error = '' THEN 0 ELSE 1 END
	 WHERE w.id = @id AND w.lease = @lease AND w.enabled RETURNING w.id),
gone AS (DELETE FROM webhook_dead_letters d USING mine WHERE d.webhook_id = mine.id AND d.seq = @seq AND @error = ''),
kept AS (UPDATE webhook_dead_letters d SET redeliver = false, error = @error FROM mine WHERE d.webhook_id = mine.id AND d.seq = @seq AND @error <> '')
SELECT id FROM mine`
)

// LeaseWebhooks is of webhook.Store. A webhook whose secret can't be decrypted is left out and given back.
func (s *Store) LeaseWebhooks(ctx context.Context, holder string, d time.Duration) ([]webhook.Leased, error) {
	var unreadable error
	all, err := list(ctx, s, "lease webhooks", leaseWebhooksSQL, args{"holder": holder, "lease": micros(d)}, func(r pgx.Row) (l webhook.Leased, err error) {
		var x sealedText
		if l.Webhook, err = scanWebhook(r, &x.version, &x.text, &l.Lease.Number, &l.Redeliver); err != nil {
			return l, err
		}
		l.Lease.Webhook = l.ID
		if l.Secret, err = s.openWebhook(&l.Webhook, x); err != nil {
			unreadable = err
		}
		return l, nil
	})
	if err != nil {
		return nil, err
	}
	var out []webhook.Leased
	for _, l := range all {
		if l.Secret != "" {
			out = append(out, l)
			continue
		}
		err := s.underLease(ctx, l.Lease, "give a webhook back", webhookUnreadableSQL, args{"error": words(unreadable.Error(), webhook.MaxError)})
		if err != nil && !fault.Is(err, fault.Lost) {
			return nil, err
		}
	}
	return out, nil
}

// ReleaseWebhooks is of webhook.Store.
func (s *Store) ReleaseWebhooks(ctx context.Context, holder string) error {
	_, err := s.exec(ctx, "release webhooks", releaseWebhooksSQL, args{"holder": holder})
	return err
}

// underLease runs a statement that changes nothing unless the lease is the newest.
func (s *Store) underLease(ctx context.Context, l webhook.Lease, what, sql string, a args) error {
	a["id"], a["lease"] = l.Webhook, l.Number
	rows, err := s.exec(ctx, what, sql, a)
	if err == nil && rows == 0 {
		err = fault.New(fault.Lost, "%s: somebody else sends for webhook %d, or it was disabled or deleted", what, l.Webhook)
	}
	return err
}

// WebhookDelivered is of webhook.Store.
func (s *Store) WebhookDelivered(ctx context.Context, l webhook.Lease, through int64, n int) error {
	return s.underLease(ctx, l, "record deliveries", webhookDeliveredSQL, args{"through": through, "count": n})
}

// WebhookFailed is of webhook.Store.
func (s *Store) WebhookFailed(ctx context.Context, l webhook.Lease, failure string) error {
	return s.underLease(ctx, l, "record a failed delivery", webhookFailedSQL, args{"error": words(failure, webhook.MaxError)})
}

// GiveUpEvent is of webhook.Store.
func (s *Store) GiveUpEvent(ctx context.Context, l webhook.Lease, d webhook.DeadLetter) error {
	return s.underLease(ctx, l, "give an event up", giveUpEventSQL, args{
		"seq": d.Seq, "message": d.MessageID, "type": d.Type, "body": d.Body, "at": d.At, "error": words(d.Error, webhook.MaxError), "most": webhook.MaxDeadLetters,
	})
}

// DeadLettersToSend is of webhook.Store.
func (s *Store) DeadLettersToSend(ctx context.Context, l webhook.Lease, limit int) ([]webhook.DeadLetter, error) {
	return list(ctx, s, "list dead letters", deadLettersToSendSQL, args{"id": l.Webhook, "lease": l.Number, "limit": limit}, scanDeadLetter)
}

// WebhookRedelivered is of webhook.Store.
func (s *Store) WebhookRedelivered(ctx context.Context, l webhook.Lease, d webhook.DeadLetter, failure string) error {
	return s.underLease(ctx, l, "record a delivery", redeliveredSQL, args{"seq": d.Seq, "error": words(failure, webhook.MaxError)})
}
