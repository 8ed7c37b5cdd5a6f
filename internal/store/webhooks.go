package store

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/webhook"
)

const (
	webhookColumns = `w.id, w.name, w.url, coalesce(w.node_uuid::text, ''), w.kinds, w.causes, w.types, w.enabled, w.created_at, w.created_by,
	w.delivered_through, (SELECT e.at FROM events e WHERE e.seq > w.delivered_through ORDER BY e.seq LIMIT 1),
	w.delivered_at, w.failing_since, w.attempts, w.last_error, w.deliveries, w.failures,
	(SELECT count(*) FROM webhook_dead_letters d WHERE d.webhook_id = w.id),
	(SELECT min(d.given_up_at) FROM webhook_dead_letters d WHERE d.webhook_id = w.id)`

	webhooksSQL = `SELECT ` + webhookColumns + ` FROM webhooks w ORDER BY w.name`
	webhookSQL  = `SELECT ` + webhookColumns + `, w.seal, w.ciphertext FROM webhooks w WHERE w.name = @name`

	// Two requests at once must not make one webhook too many.
	lockWebhooksSQL  = `LOCK TABLE webhooks IN SHARE ROW EXCLUSIVE MODE`
	countWebhooksSQL = `SELECT count(*), coalesce(bool_or(w.name = @name), false) FROM webhooks w`
	insertWebhookSQL = `
INSERT INTO webhooks (name, url, key_id, seal, ciphertext, node_uuid, kinds, causes, types, enabled, created_by, delivered_through)
VALUES (@name, @url, @key, @seal, @secret, nullif(@node, '')::uuid, @kinds, @causes, @types, @enabled, @by, coalesce(pg_sequence_last_value('events_seq_seq'), 0))`

	// A webhook that is changed has no lease, so that nothing more is sent to its old address, with its old secret, or at all if it is disabled.
	changeWebhookSQL = `
UPDATE webhooks SET url = @url, key_id = CASE WHEN @sealed THEN @key ELSE key_id END, seal = CASE WHEN @sealed THEN @seal ELSE seal END,
	ciphertext = CASE WHEN @sealed THEN @secret::bytea ELSE ciphertext END, node_uuid = nullif(@node, '')::uuid, kinds = @kinds, causes = @causes,
	types = @types, enabled = @enabled, leased_by = '', leased_until = NULL, lease = lease + 1
 WHERE name = @name`
	deleteWebhookSQL = `DELETE FROM webhooks WHERE name = @name`

	deadLettersSQL = `
SELECT d.seq, d.message_id, d.type, d.body, d.at, d.given_up_at, d.error, d.redeliver
  FROM webhook_dead_letters d JOIN webhooks w ON w.id = d.webhook_id
 WHERE w.name = @name AND d.seq > @after ORDER BY d.seq LIMIT @limit`

	redeliverSQL = `
UPDATE webhook_dead_letters d SET redeliver = true FROM webhooks w
 WHERE w.id = d.webhook_id AND w.name = @name AND (@seq::bigint = 0 OR d.seq = @seq)`
)

func scanWebhook(r pgx.Row, more ...any) (w webhook.Webhook, err error) {
	return w, r.Scan(append([]any{
		&w.ID, &w.Name, &w.URL, &w.Filter.NodeUUID, &w.Filter.Kinds, &w.Filter.Causes, &w.Filter.Types, &w.Enabled, &w.CreatedAt, &w.CreatedBy,
		&w.DeliveredThrough, &w.Behind, &w.DeliveredAt, &w.FailingSince, &w.Attempts, &w.LastError, &w.Deliveries, &w.Failures, &w.DeadLetters, &w.DeadSince,
	}, more...)...)
}

// Webhooks returns all webhooks, by name.
func (s *Store) Webhooks(ctx context.Context) ([]webhook.Webhook, error) {
	return list(ctx, s, "list webhooks", webhooksSQL, nil, func(r pgx.Row) (webhook.Webhook, error) { return scanWebhook(r) })
}

// Webhook returns a webhook with its secret, which goes into no answer, log or error.
func (s *Store) Webhook(ctx context.Context, name string) (w *webhook.Webhook, secret string, err error) {
	x := sealedText{}
	found, err := s.one(ctx, "read webhook "+words(name, 255), webhookSQL, args{"name": name}, func(r pgx.Row) error {
		read, err := scanWebhook(r, &x.version, &x.text)
		w = &read
		return err
	})
	switch {
	case err != nil:
		return nil, "", err
	case !found:
		return nil, "", unknownWebhook(name)
	}
	secret, err = s.openWebhook(w, x)
	return w, secret, err
}

// The secret is sealed for a node that is none, under a name that has the webhook's name and url: it opens for no other.
func sealedWebhook(w *webhook.Webhook) (n *node.Node, name string) {
	return &node.Node{}, "webhook/" + w.Name + "/" + w.URL
}

func (s *Store) openWebhook(w *webhook.Webhook, x sealedText) (string, error) {
	var n *node.Node
	n, x.name = sealedWebhook(w)
	v, err := s.unseal(n, x)
	if err != nil {
		return "", fault.Coded(fault.SecretUnreadable, "the secret of webhook %s does not open with the keys of this process", w.Name)
	}
	secret, _ := v.(string)
	return secret, nil
}

// CreateWebhook writes a webhook. It gets the events whose numbers are given out from now on. fault.Conflict if there is one
// of its name, or if there are webhook.Max.
func (s *Store) CreateWebhook(ctx context.Context, w *webhook.Webhook, secret string) error {
	n, name := sealedWebhook(w)
	keys := s.keys()
	sealed, err := keys.seal(n, name, secret)
	if err != nil {
		return err
	}
	count, taken := 0, false
	err = s.inTx(ctx, "create webhook "+w.Name, func(b *pgx.Batch) {
		b.Queue(lockWebhooksSQL)
		b.Queue(countWebhooksSQL, args{"name": w.Name}).QueryRow(func(r pgx.Row) error { return r.Scan(&count, &taken) })
	}, func(b *pgx.Batch) error {
		switch {
		case taken:
			return fault.Coded(fault.AlreadyExists, "There is a webhook %s already.", w.Name)
		case count >= webhook.Max:
			return fault.New(fault.Conflict, "There are %d webhooks, and there can't be more.", count)
		}
		b.Queue(insertWebhookSQL, args{
			"name": w.Name, "url": w.URL, "key": keys.keyID, "seal": sealVersion, "secret": sealed, "node": w.Filter.NodeUUID, "kinds": orNone(w.Filter.Kinds),
			"causes": orNone(w.Filter.Causes), "types": orNone(w.Filter.Types), "enabled": w.Enabled, "by": words(w.CreatedBy, 255),
		})
		return nil
	})
	return err
}

// ChangeWebhook changes url, filter and enabled of a webhook. edit changes w, and returns the new secret, "" = the same as before. One
// that is enabled goes on where it was, at once.
func (s *Store) ChangeWebhook(ctx context.Context, name string, edit func(w *webhook.Webhook) (secret string, err error)) error {
	var w webhook.Webhook
	x, found, keys := sealedText{}, false, s.keys()
	return s.inTx(ctx, "change webhook "+words(name, 255), func(b *pgx.Batch) {
		b.Queue(webhookSQL+" FOR UPDATE OF w", args{"name": name}).QueryRow(maybe(&found, func(r pgx.Row) (err error) {
			w, err = scanWebhook(r, &x.version, &x.text)
			return err
		}))
	}, func(b *pgx.Batch) error {
		if !found {
			return unknownWebhook(name)
		}
		had := w
		secret, err := edit(&w)
		if err == nil && secret == "" && w.URL != had.URL {
			secret, err = s.openWebhook(&had, x)
		}
		var sealed []byte
		if n, sealName := sealedWebhook(&w); err == nil && secret != "" {
			sealed, err = keys.seal(n, sealName, secret)
		}
		if err != nil {
			return err
		}
		b.Queue(changeWebhookSQL, args{
			"name": name, "url": w.URL, "key": keys.keyID, "seal": sealVersion, "secret": sealed, "sealed": sealed != nil, "node": w.Filter.NodeUUID,
			"kinds": orNone(w.Filter.Kinds), "causes": orNone(w.Filter.Causes), "types": orNone(w.Filter.Types), "enabled": w.Enabled,
		})
		return nil
	})
}

// DeleteWebhook deletes a webhook with its dead letters.
func (s *Store) DeleteWebhook(ctx context.Context, name string) error {
	rows, err := s.changeRows(ctx, "delete webhook "+words(name, 255), deleteWebhookSQL, args{"name": name})
	if err == nil && rows == 0 {
		err = unknownWebhook(name)
	}
	return err
}

func (s *Store) oneWebhook(ctx context.Context, what, name, sql string, a args) error {
	rows, err := s.exec(ctx, what+words(name, 255), sql, a)
	if err == nil && rows == 0 {
		err = unknownWebhook(name)
	}
	return err
}

// DeadLetters is a page of the dead letters of a webhook, oldest first, those after the number after.
func (s *Store) DeadLetters(ctx context.Context, name string, after int64, limit int) ([]webhook.DeadLetter, error) {
	if err := s.oneWebhook(ctx, "list dead letters of webhook ", name, webhookExistsSQL, args{"name": name}); err != nil {
		return nil, err
	}
	return list(ctx, s, "list dead letters", deadLettersSQL, args{"name": name, "after": after, "limit": limit}, scanDeadLetter)
}

func scanDeadLetter(r pgx.Row) (d webhook.DeadLetter, err error) {
	return d, r.Scan(&d.Seq, &d.MessageID, &d.Type, &d.Body, &d.At, &d.GivenUpAt, &d.Error, &d.Redeliver)
}

// RedeliverEvents has a dead letter sent once more, or all of a webhook (seq 0), and returns how many.
func (s *Store) RedeliverEvents(ctx context.Context, name string, seq int64) (int, error) {
	if err := s.oneWebhook(ctx, "redeliver events of webhook ", name, webhookExistsSQL, args{"name": name}); err != nil {
		return 0, err
	}
	rows, err := s.changeRows(ctx, "redeliver events of webhook "+words(name, 255), redeliverSQL, args{"name": name, "seq": seq})
	if err == nil && rows == 0 && seq != 0 {
		err = fault.New(fault.NotFound, "Event %d is no dead letter of webhook %s.", seq, words(name, 255))
	}
	return int(rows), err
}

const (
	webhookExistsSQL = `SELECT w.id FROM webhooks w WHERE w.name = @name`

	oldWebhooksSQL = `SELECT w.name, w.url, w.seal, w.ciphertext FROM webhooks w WHERE w.key_id <> @key ORDER BY w.id`

	resealWebhookSQL = `UPDATE webhooks SET key_id = @key, seal = @seal, ciphertext = @fresh WHERE name = @name AND ciphertext = @old`
)

// rotateWebhooks is Rotate for the secrets of webhooks.
func (s *Store) rotateWebhooks(ctx context.Context) (total int, err error) {
	type sealed struct {
		webhook.Webhook
		sealedText
	}
	keys := s.keys()
	old, err := list(ctx, s, "list webhooks to seal again", oldWebhooksSQL, args{"key": keys.keyID}, func(r pgx.Row) (o sealed, err error) {
		return o, r.Scan(&o.Name, &o.URL, &o.version, &o.text)
	})
	if err != nil {
		return 0, err
	}
	var closed error
	for i := range old {
		o := &old[i]
		secret, err := s.openWebhook(&o.Webhook, o.sealedText)
		if err != nil {
			closed = cmp.Or(closed, err)
			continue
		}
		n, name := sealedWebhook(&o.Webhook)
		fresh, err := keys.seal(n, name, secret)
		if err != nil {
			return total, err
		}
		rows, err := s.exec(ctx, "seal webhooks again", resealWebhookSQL, args{"key": keys.keyID, "seal": sealVersion, "fresh": fresh, "name": o.Name, "old": o.text})
		if err != nil {
			return total, err
		}
		total += int(rows)
	}
	return total, closed
}

func unknownWebhook(name string) error {
	return fault.New(fault.NotFound, "Webhook %s could not be found.", words(name, 255))
}
