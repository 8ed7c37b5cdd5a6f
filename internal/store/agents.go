package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const (
	lookupStateSQL = `
SELECT a.token_revealed, a.token_source, a.first_heartbeat_at IS NOT NULL, s.ciphertext
  FROM nodes n
  LEFT JOIN secrets s ON s.node_id = n.id AND s.name = 'agent_token'
  JOIN agents a ON a.node_id = n.id
 WHERE n.uuid = @uuid`

	lookedUpSQL = `
INSERT INTO agents (node_id, looked_up_at, token_revealed, token_source) VALUES (@node, clock_timestamp(), @revealed, @source)
ON CONFLICT (node_id) DO UPDATE SET looked_up_at = excluded.looked_up_at, token_revealed = excluded.token_revealed,
	token_source = excluded.token_source`
)

// AgentLookup answers an agent's lookup. decide is told how often the token was
// told already (0 = there is none), whether this source is the one that was told
// first, and whether a heartbeat came since; it gives a new token, or reveals the
// one there is, or neither. The answer is the token in the clear, "" = masked.
// What is told is durable, sealed and counted, before it is returned.
func (s *Store) AgentLookup(ctx context.Context, nodeUUID, source string,
	decide func(revealed int, sameSource, heartbeatSeen bool) (reveal bool, newToken string),
) (token string, err error) {
	var l lockedNode
	var known, seen bool
	var revealed int
	var first string
	var text []byte
	err = s.inTx(ctx, "look up node "+words(nodeUUID, 64), func(b *pgx.Batch) {
		l.queueLock(b, nodeUUID)
		b.Queue(lookupStateSQL, args{"uuid": nodeUUID}).QueryRow(maybe(&known, func(r pgx.Row) error {
			return r.Scan(&revealed, &first, &seen, &text)
		}))
	}, func(b *pgx.Batch) error {
		if !l.found {
			return node.NotFound(nodeUUID)
		}
		if text == nil {
			revealed, first = 0, ""
		}
		reveal, fresh := decide(revealed, source != "" && source == first, seen)
		switch {
		case fresh != "":
			sealed, err := s.sealAll(l.UUID, node.Secrets{agentToken: fresh})
			if err != nil {
				return err
			}
			sealed.queue(b, l.ID)
			token, revealed, first = fresh, 1, source
		case reveal && text != nil:
			if token, err = s.openToken(l.UUID, text); err != nil {
				return err
			}
			revealed++
		}
		b.Queue(lookedUpSQL, args{"node": l.ID, "revealed": revealed, "source": words(first, 4096)})
		return nil
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

const (
	heartbeatSQL = `
INSERT INTO agents (node_id, url, version, verify_ca, first_heartbeat_at, last_heartbeat_at)
VALUES (@node, @url, @version, @verify_ca, clock_timestamp(), clock_timestamp())
ON CONFLICT (node_id) DO UPDATE SET url = excluded.url, version = excluded.version, verify_ca = excluded.verify_ca,
	first_heartbeat_at = coalesce(agents.first_heartbeat_at, excluded.first_heartbeat_at), last_heartbeat_at = excluded.last_heartbeat_at`

	// Callback timeouts count from here (Ironic's touch_provisioning).
	touchSQL = `UPDATE nodes SET provision_updated_at = clock_timestamp() WHERE id = @id`
)

// AgentHeartbeat records a heartbeat that check accepts; check gets the node and
// its token in the clear ("" = none). first: none came since the token was made,
// so this is a new boot. The operation is the node's open one, nil = none.
func (s *Store) AgentHeartbeat(ctx context.Context, nodeUUID string, check func(n *node.Node, token string) error, a node.Agent) (first bool, op *node.Operation, err error) {
	var l lockedNode
	var text []byte
	err = s.inTx(ctx, "heartbeat of node "+words(nodeUUID, 64), func(b *pgx.Batch) {
		l.queueLock(b, nodeUUID)
		b.Queue(secretOfNodeSQL, args{"uuid": nodeUUID, "name": agentToken}).
			QueryRow(maybe(new(bool), func(r pgx.Row) error { return r.Scan(&text) }))
	}, func(b *pgx.Batch) error {
		if !l.found {
			return node.NotFound(nodeUUID)
		}
		token := ""
		if text != nil {
			if token, err = s.openToken(l.UUID, text); err != nil {
				return err
			}
		}
		if err := check(&l.Node, token); err != nil {
			return err
		}
		b.Queue(heartbeatSQL, args{
			"node": l.ID, "url": words(a.URL, maxError), "version": words(a.Version, 255), "verify_ca": words(a.VerifyCA, 64<<10),
		})
		if node.Waits(l.ProvisionState) {
			b.Queue(touchSQL, args{"id": l.ID})
		}
		first, op = l.Agent == nil || l.Agent.FirstHeartbeatAt == nil, l.Operation
		return nil
	})
	if err != nil {
		return false, nil, err
	}
	return first, op, nil
}

const nodesByPortsSQL = `
SELECT DISTINCT n.uuid::text FROM ports p JOIN nodes n ON n.id = p.node_id WHERE p.address = ANY(@macs) LIMIT 2`

// NodeByPorts finds the node of an agent: by uuid where it knows one, else by
// its MACs (lower case, with colons). fault.NotFound when there is none;
// fault.Conflict when the MACs belong to several.
func (s *Store) NodeByPorts(ctx context.Context, uuid string, macs []string) (*node.Node, error) {
	if uuid != "" {
		if !isUUID(uuid) {
			return nil, node.NotFound(words(uuid, 64))
		}
		return s.Node(ctx, uuid)
	}
	if len(macs) == 0 {
		return nil, fault.New(fault.NotFound, "no node could be found: neither a uuid nor a MAC was given")
	}
	uuids, err := list(ctx, s, "find a node by its MACs", nodesByPortsSQL, args{"macs": macs}, func(r pgx.Row) (u string, err error) {
		return u, r.Scan(&u)
	})
	switch {
	case err != nil:
		return nil, err
	case len(uuids) == 0:
		return nil, fault.New(fault.NotFound, "no node has one of these MACs")
	case len(uuids) > 1:
		return nil, fault.New(fault.Conflict, "these MACs belong to more than one node")
	}
	return s.Node(ctx, uuids[0])
}
