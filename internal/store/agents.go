package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const (
	lookupStateSQL = `
SELECT a.token_revealed, a.token_source, a.first_heartbeat_at IS NOT NULL OR a.token_source = 'medium', coalesce(s.seal, 0), s.ciphertext
  FROM nodes n
  LEFT JOIN secrets s ON s.node_id = n.id AND s.name = 'agent_token'
  JOIN agents a ON a.node_id = n.id
 WHERE n.uuid = @uuid`

	knownAgentSQL = `
SELECT coalesce(a.url, ''), coalesce(a.verify_ca, ''), coalesce(s.seal, 0), s.ciphertext
  FROM nodes n
  LEFT JOIN secrets s ON s.node_id = n.id AND s.name = 'agent_token'
  LEFT JOIN agents a ON a.node_id = n.id
 WHERE n.uuid = @uuid`

	// Anybody can send lookups, so that most of them must write nothing.
	refusedLookupSQL = `
UPDATE agents a SET refused_source = @source, refused_at = clock_timestamp()
  FROM nodes n WHERE n.uuid = @uuid AND a.node_id = n.id AND (a.refused_at IS NULL OR a.refused_at < clock_timestamp() - interval '10 seconds')`

	lookedUpSQL = `UPDATE agents SET looked_up_at = clock_timestamp(), token_revealed = @revealed, token_source = @source WHERE node_id = @node`
)

// AgentLookup answers an agent's lookup. decide gets how often the token was sent to an agent
// already (0 = there is no token), whether this source was the first to get it, and whether none gets
// it any more: a heartbeat has come since, or the token is on the medium of the boot. It returns a new token, or reveal to send the present one, or
// neither. AgentLookup returns the token in the clear, or "" if decide sends none.
//
// A token is stored encrypted, and the sending is counted, before the token is returned. If decide
// sends none, the node's row is not locked: anybody can send lookups, and could block the node. The error is fault.NotFound if no
// boot of the node's agent has begun (BeginBoot).
func (s *Store) AgentLookup(ctx context.Context, nodeUUID, source string,
	decide func(revealed int, sameSource, closed bool) (reveal bool, newToken string),
) (token string, err error) {
	var l lockedNode
	var known, closed bool
	var revealed int
	var first string
	sealed := sealedText{name: agentToken}
	state := func(r pgx.Row) error { return r.Scan(&revealed, &first, &closed, &sealed.version, &sealed.text) }
	known, err = s.one(ctx, "look up node "+words(nodeUUID, 64), lookupStateSQL, args{"uuid": nodeUUID}, state)
	if err != nil {
		return "", err
	}
	if !known {
		return "", notBooted(nodeUUID)
	}
	if sealed.text != nil {
		if reveal, fresh := decide(revealed, source != "" && source == first, closed); !reveal && fresh == "" {
			if closed || source == first {
				return "", nil
			}
			_, err := s.exec(ctx, "record a refused lookup", refusedLookupSQL, args{"uuid": nodeUUID, "source": words(source, 4096)})
			return "", err
		}
	}
	known, revealed, first, closed, sealed.text = false, 0, "", false, nil
	err = s.inTx(ctx, "look up node "+words(nodeUUID, 64), func(b *pgx.Batch) {
		l.queueLock(b, nodeUUID)
		b.Queue(lookupStateSQL, args{"uuid": nodeUUID}).QueryRow(maybe(&known, state))
	}, func(b *pgx.Batch) error {
		if !l.found() {
			return node.NotFound(nodeUUID)
		}
		if !known {
			return notBooted(nodeUUID)
		}
		if sealed.text == nil {
			revealed, first = 0, ""
		}
		reveal, fresh := decide(revealed, source != "" && source == first, closed)
		switch {
		case fresh != "":
			secrets, err := s.sealAll(&l.Node, node.Secrets{agentToken: fresh})
			if err != nil {
				return err
			}
			secrets.queue(b, l.ID)
			token, revealed, first = fresh, 1, source
		case reveal && sealed.text != nil:
			if token, err = s.openToken(l.UUID, sealed); err != nil {
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

func notBooted(nodeUUID string) error {
	return fault.New(fault.NotFound, "no boot of the agent of node %s has begun", nodeUUID)
}

const heartbeatSQL = `
INSERT INTO agents (node_id, url, version, verify_ca, first_heartbeat_at, last_heartbeat_at)
VALUES (@node, @url, @version, @verify_ca, clock_timestamp(), clock_timestamp())
ON CONFLICT (node_id) DO UPDATE SET url = excluded.url, version = excluded.version,
	verify_ca = CASE WHEN excluded.verify_ca = '' THEN agents.verify_ca ELSE excluded.verify_ca END,
	first_heartbeat_at = coalesce(agents.first_heartbeat_at, excluded.first_heartbeat_at), last_heartbeat_at = excluded.last_heartbeat_at`

// AgentHeartbeat records a heartbeat if check accepts it. check gets what is known of the node's
// agent (at least its address and certificate) and its token in the clear, "" if there is none. It
// is called twice: before the node's row is locked, so that nobody can lock the row without the
// token, and under the lock.
//
// AgentHeartbeat returns whether this is the first heartbeat since the token was made, so the first
// of a boot, and the node's open operation, nil if there is none.
func (s *Store) AgentHeartbeat(ctx context.Context, nodeUUID string, check func(known node.Agent, token string) error, a node.Agent) (first bool, op *node.Operation, err error) {
	if err := s.checkHeartbeat(ctx, nodeUUID, check); err != nil {
		return false, nil, err
	}
	var l lockedNode
	var sealed sealedText
	err = s.inTx(ctx, "heartbeat of node "+words(nodeUUID, 64), func(b *pgx.Batch) {
		l.queueLock(b, nodeUUID)
		b.Queue(secretOfNodeSQL, args{"uuid": nodeUUID, "name": agentToken}).
			QueryRow(maybe(new(bool), func(r pgx.Row) (err error) {
				sealed, err = scanSealed(r)
				return err
			}))
	}, func(b *pgx.Batch) error {
		if !l.found() {
			return node.NotFound(nodeUUID)
		}
		token := ""
		if sealed.text != nil {
			if token, err = s.openToken(l.UUID, sealed); err != nil {
				return err
			}
		}
		known := node.Agent{}
		if l.Agent != nil {
			known = *l.Agent
		}
		if err := check(known, token); err != nil {
			return err
		}
		b.Queue(heartbeatSQL, args{
			"node": l.ID, "url": words(a.URL, maxError), "version": words(a.Version, 255), "verify_ca": words(a.VerifyCA, 64<<10),
		})
		if node.Waits(l.ProvisionState) {
			l.queueTouch(b)
		}
		first, op = l.Agent == nil || l.Agent.FirstHeartbeatAt == nil, l.Operation
		return nil
	})
	if err != nil {
		return false, nil, err
	}
	return first, op, nil
}

// checkHeartbeat calls check with what is known of the agent now, without a lock.
func (s *Store) checkHeartbeat(ctx context.Context, nodeUUID string, check func(known node.Agent, token string) error) error {
	var known node.Agent
	sealed := sealedText{name: agentToken}
	found, err := s.one(ctx, "check a heartbeat of node "+words(nodeUUID, 64), knownAgentSQL, args{"uuid": nodeUUID}, func(r pgx.Row) error {
		return r.Scan(&known.URL, &known.VerifyCA, &sealed.version, &sealed.text)
	})
	if err == nil && !found {
		err = node.NotFound(nodeUUID)
	}
	if err != nil {
		return err
	}
	token := ""
	if sealed.text != nil {
		if token, err = s.openToken(nodeUUID, sealed); err != nil {
			return err
		}
	}
	return check(known, token)
}

// A MAC may be on many servers, such as that of a NIC inside the BMC, which became a
// port of the server that was inspected first. So the node wins that has the most of
// the named MACs as ports and, among equals, the fewest other ports.
const nodesByPortsSQL = `
SELECT n.uuid::text, n.driver, n.interfaces, o.kind, count(*) AS named,
	(SELECT count(*) FROM ports x WHERE x.node_id = n.id) - count(*) AS unnamed
  FROM ports p
  JOIN nodes n ON n.id = p.node_id
  JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL
 WHERE p.address = ANY(@macs)
 GROUP BY n.id, o.id
 ORDER BY named DESC, unnamed, n.id
 LIMIT 256`

// portsNode is a node that has some of the MACs which an agent named.
type portsNode struct {
	node.Node
	named, unnamed int
}

func scanPortsNode(r pgx.Row) (p portsNode, err error) {
	p.Operation = &node.Operation{}
	return p, r.Scan(&p.UUID, &p.Driver, &p.Interfaces, &p.Operation.Kind, &p.named, &p.unnamed)
}

// AgentNode finds the node that an agent runs on: by uuid if the agent knows it, else
// by its MACs (lower case, with colons). It finds only nodes whose open operation uses
// an agent. It returns fault.NotFound if there is none, and fault.Conflict if several
// nodes match the MACs equally well.
func (s *Store) AgentNode(ctx context.Context, uuid string, macs []string) (*node.Node, error) {
	if uuid == "" {
		var err error
		if uuid, err = s.nodeByPorts(ctx, macs); err != nil {
			return nil, err
		}
	}
	if !node.IsHyphenatedUUID(uuid) {
		return nil, node.NotFound(words(uuid, 64))
	}
	n, err := s.Node(ctx, uuid)
	if err == nil && !n.AgentBelongs() {
		return nil, fault.New(fault.NotFound, "no operation of node %s uses an agent", uuid)
	}
	return n, err
}

func (s *Store) nodeByPorts(ctx context.Context, macs []string) (uuid string, err error) {
	if len(macs) == 0 {
		return "", fault.New(fault.NotFound, "no node could be found: neither a uuid nor a MAC was given")
	}
	found, err := list(ctx, s, "find a node by its MACs", nodesByPortsSQL, args{"macs": macs}, scanPortsNode)
	if err != nil {
		return "", err
	}
	found = slices.DeleteFunc(found, func(p portsNode) bool { return !p.AgentBelongs() })
	switch {
	case len(found) == 0:
		return "", fault.New(fault.NotFound, "no node that waits for an agent has one of these MACs")
	case len(found) > 1 && found[0].named == found[1].named && found[0].unnamed == found[1].unnamed:
		return "", fault.New(fault.Conflict, "these MACs belong to more than one node")
	}
	return found[0].UUID, nil
}
