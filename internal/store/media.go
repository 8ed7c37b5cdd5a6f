package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const (
	bootTokenSQL = `
SELECT s.name, s.seal, s.ciphertext
  FROM operations o
  JOIN agents a ON a.node_id = o.node_id
  JOIN secrets s ON s.node_id = o.node_id AND s.name = 'agent_token'
 WHERE o.id = @id`

	beginBootSQL = `INSERT INTO agents (node_id) VALUES (@node) ON CONFLICT (node_id) DO NOTHING`

	// The token counts as sent, so that no lookup gets it.
	beginMediumSQL = `
WITH told AS (UPDATE agents SET token_revealed = 1, token_source = 'medium', medium_read_since = NULL, medium_read_at = NULL, medium_read_bytes = 0 WHERE node_id = @node RETURNING node_id)
INSERT INTO media (node_id, key_hash, contents) SELECT node_id, @hash, @contents FROM told
ON CONFLICT (node_id) DO UPDATE SET key_hash = excluded.key_hash, contents = excluded.contents`

	// Without a token on the way, the first lookup gets it.
	beginNetworkSQL = `
INSERT INTO media (node_id, key_hash, contents) VALUES (@node, @hash, @contents)
ON CONFLICT (node_id) DO UPDATE SET key_hash = excluded.key_hash, contents = excluded.contents`

	networkMediumSQL = `
SELECT n.uuid::text, m.key_hash, m.contents
  FROM ports p
  JOIN media m ON m.node_id = p.node_id AND (m.contents ->> 'network')::boolean
  JOIN nodes n ON n.id = p.node_id
  JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL
 WHERE p.address = @mac`

	mediumSQL = `
SELECT n.uuid::text, m.contents, s.seal, s.ciphertext
  FROM media m
  JOIN nodes n ON n.id = m.node_id
  JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL
  JOIN secrets s ON s.node_id = n.id AND s.name = 'agent_token'
 WHERE m.key_hash = @hash`

	mediumReadSQL = `
UPDATE agents a SET medium_read_since = coalesce(a.medium_read_since, clock_timestamp()), medium_read_at = clock_timestamp(),
	medium_read_bytes = a.medium_read_bytes + @bytes
  FROM media m WHERE m.key_hash = @hash AND a.node_id = m.node_id`
)

// BeginBoot lets the agent of the operation's node be looked up from now on, which must be before its server is switched on. m is
// the medium from which the server boots the agent; nil = it boots from one that Temper does not make, and the first lookup gets
// the token. BeginBoot returns the token of the boot that has begun already if there is one: it may run twice, and
// names the same medium then. It is "" without a medium, and for a boot by network, whose KeyHash gets the node's uuid.
func (s *Store) BeginBoot(ctx context.Context, operation int64, c node.Claim, m *node.BootMedium) (token string, err error) {
	var sealed sealedText
	err = s.inClaimAfter(ctx, "begin a boot of the agent", operation, c, func(b *pgx.Batch) {
		b.Queue(bootTokenSQL, args{"id": operation}).QueryRow(maybe(new(bool), func(r pgx.Row) (err error) {
			sealed, err = scanSealed(r)
			return err
		}))
	}, func(f *fenced, b *pgx.Batch) error {
		if sealed.text != nil {
			token, err = s.openToken(f.UUID, sealed)
			return err
		}
		b.Queue(beginBootSQL, args{"node": f.ID})
		var d dicts
		switch {
		case m == nil:
			return nil
		case m.Network:
			b.Queue(beginNetworkSQL, args{"node": f.ID, "hash": m.KeyHash(f.UUID), "contents": d.of(m.Medium)})
			return d.err
		}
		secrets, err := s.sealAll(&f.Node, node.Secrets{agentToken: m.Token})
		if err != nil {
			return err
		}
		secrets.queue(b, f.ID)
		b.Queue(beginMediumSQL, args{"node": f.ID, "hash": m.KeyHash(m.Token), "contents": d.of(m.Medium)})
		token = m.Token
		return d.err
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// Medium returns the medium whose key has this hash. The error is fault.NotFound if there is none, or its operation is over.
func (s *Store) Medium(ctx context.Context, hash []byte) (m node.ServedMedium, err error) {
	sealed := sealedText{name: agentToken}
	found, err := s.one(ctx, "read a medium", mediumSQL, args{"hash": hash}, func(r pgx.Row) error {
		return r.Scan(&m.Node, &m.Medium, &sealed.version, &sealed.text)
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, "there is no such medium, or its operation is over")
	}
	if err != nil {
		return node.ServedMedium{}, err
	}
	m.Token, err = s.openToken(m.Node, sealed)
	return m, err
}

// NetworkMedium returns what the server with a port of this MAC loads. The error is fault.NotFound if none boots by network now.
func (s *Store) NetworkMedium(ctx context.Context, mac string) (m node.NetworkMedium, err error) {
	found, err := s.one(ctx, "read what a server boots by network", networkMediumSQL, args{"mac": mac}, func(r pgx.Row) error {
		return r.Scan(&m.Node, &m.KeyHash, &m.Medium)
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, "no server with the MAC %s boots by network now", mac)
	}
	return m, err
}

// MediumRead adds to what was read of the medium whose key has this hash. It does nothing if there is none any more.
func (s *Store) MediumRead(ctx context.Context, hash []byte, bytes int64) error {
	_, err := s.exec(ctx, "record what was read of a medium", mediumReadSQL, args{"hash": hash, "bytes": bytes})
	return err
}
