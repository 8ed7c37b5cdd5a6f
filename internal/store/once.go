package store

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The first two run under the lock of the node's row, so of two requests with
// the same key the second finds what the first has written.
const (
	earlierByUUIDSQL = `
SELECT coalesce(k.operation_id, 0), k.seal, k.digest FROM idempotency_keys k JOIN nodes n ON n.id = k.node_id
 WHERE n.uuid = @ident AND k.key = @key AND k.accepted_at > clock_timestamp() - @age * interval '1 microsecond'`

	earlierByNameSQL = `
SELECT coalesce(k.operation_id, 0), k.seal, k.digest FROM idempotency_keys k JOIN nodes n ON n.id = k.node_id
 WHERE n.name = @ident AND k.key = @key AND k.accepted_at > clock_timestamp() - @age * interval '1 microsecond'`

	rememberRequestSQL = `
INSERT INTO idempotency_keys (node_id, key, operation_id, seal, digest)
VALUES (@node, @key, nullif(@operation::bigint, 0), @seal, @digest)
ON CONFLICT (node_id, key) DO UPDATE SET operation_id = excluded.operation_id, seal = excluded.seal, digest = excluded.digest,
	accepted_at = excluded.accepted_at`

	forgetRequestsSQL = `
DELETE FROM idempotency_keys k USING (
	SELECT old.node_id, old.key FROM idempotency_keys old
	 WHERE old.accepted_at <= clock_timestamp() - @age * interval '1 microsecond'
	 ORDER BY old.accepted_at LIMIT @limit FOR UPDATE SKIP LOCKED) gone
 WHERE k.node_id = gone.node_id AND k.key = gone.key`

	// forgetRequestsAtOnce bounds the work of one reconciliation.
	forgetRequestsAtOnce = 10_000
)

// earlier is the request that came first with a key.
type earlier struct {
	found     bool
	operation int64 // 0 = it needed none
	digest    sealedText
}

func (e *earlier) queue(b *pgx.Batch, ident string, once node.IdempotencyKey) {
	if once.Key == "" {
		return
	}
	e.digest.name = onceName(once)
	a := args{"ident": ident, "key": once.Key, "age": micros(node.IdempotencyKeyLifetime)}
	b.Queue(byIdent(ident, earlierByUUIDSQL, earlierByNameSQL), a).QueryRow(maybe(&e.found, func(r pgx.Row) error {
		return r.Scan(&e.operation, &e.digest.version, &e.digest.text)
	}))
}

// onceName is what the seal of a digest is bound to, beside the node.
func onceName(once node.IdempotencyKey) string { return "idempotency_key/" + once.Key }

// same refuses another request than the earlier one.
func (e *earlier) same(s *Store, n *node.Node, once node.IdempotencyKey) error {
	was, err := s.unseal(n, e.digest)
	if err != nil { // sealed with a key that was taken out of the keyset since
		return fault.Coded(fault.IdempotencyKeyReused, "Node %s: the idempotency key was used before, and it can't be told whether for the same request: %w", n.UUID, err)
	}
	if was != hex.EncodeToString(once.Digest) {
		return fault.Coded(fault.IdempotencyKeyReused, "Node %s: the idempotency key was used for another request in the last %d hours. Use a new key for a new request.",
			n.UUID, node.IdempotencyKeyLifetime/time.Hour)
	}
	return nil
}

// queueOnce remembers the request that was just written.
func (r *request) queueOnce(b *pgx.Batch, once node.IdempotencyKey) error {
	if once.Key == "" {
		return nil
	}
	digest, err := r.store.keys().seal(&r.Node, onceName(once), hex.EncodeToString(once.Digest))
	if err != nil {
		return err
	}
	b.Queue(rememberRequestSQL, args{"node": r.ID, "key": once.Key, "operation": r.number(), "seal": sealVersion, "digest": digest})
	return nil
}

// ForgetRequests deletes idempotency keys that are no longer honoured, a bounded
// number at a time, and returns how many.
func (s *Store) ForgetRequests(ctx context.Context) (int, error) {
	gone, err := s.exec(ctx, "forget idempotency keys", forgetRequestsSQL, args{"age": micros(node.IdempotencyKeyLifetime), "limit": forgetRequestsAtOnce})
	return int(gone), err
}
