package store

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// agentToken is the name under which a node's agent token is sealed.
const agentToken = "agent_token"

// sealed are secrets ready to be written: sealed ones, and names to delete.
type sealed struct {
	names  []string
	texts  [][]byte
	keyID  int64
	forget []string
}

// sealAll seals for the destinations that n has.
func (s *Store) sealAll(n *node.Node, secrets node.Secrets) (sealed, error) {
	keys := s.keys()
	out := sealed{keyID: keys.keyID}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if secrets[name] == nil {
			out.forget = append(out.forget, name)
			continue
		}
		text, err := keys.seal(n, name, secrets[name])
		if err != nil {
			return sealed{}, err
		}
		out.names, out.texts = append(out.names, name), append(out.texts, text)
	}
	return out, nil
}

const (
	putSecretsSQL = `
INSERT INTO secrets (node_id, name, key_id, seal, ciphertext)
SELECT @node, s.name, @key, @seal, s.ciphertext FROM unnest(@names::text[], @texts::bytea[]) AS s (name, ciphertext)
ON CONFLICT (node_id, name) DO UPDATE SET key_id = excluded.key_id, seal = excluded.seal, ciphertext = excluded.ciphertext`

	dropSecretsSQL = `DELETE FROM secrets WHERE node_id = @node AND name = ANY(@names)`
)

func (x sealed) queue(b *pgx.Batch, nodeID int64) {
	if len(x.names) > 0 {
		b.Queue(putSecretsSQL, args{"node": nodeID, "key": x.keyID, "seal": sealVersion, "names": x.names, "texts": x.texts})
	}
	queueDropSecrets(b, nodeID, x.forget)
}

func queueDropSecrets(b *pgx.Batch, nodeID int64, names []string) {
	if len(names) > 0 {
		b.Queue(dropSecretsSQL, args{"node": nodeID, "names": names})
	}
}

// The dictionaries of a node that may hold secrets, and the prefixes of their names.
const (
	inDriverInfo   = "driver_info"
	inInstanceInfo = "instance_info"
)

// hide is the last line of defence: a secret that a caller left in a dictionary
// is taken out and sealed with the rest. given is not changed.
func (s *Store) hide(n *node.Node, given node.Secrets) node.Secrets {
	out := maps.Clone(given)
	for prefix, dict := range map[string]*map[string]any{inDriverInfo: &n.DriverInfo, inInstanceInfo: &n.InstanceInfo} {
		if *dict == nil {
			continue
		}
		shown, found := secret.Mask(*dict)
		*dict = shown
		for path, v := range found {
			if name := prefix + path; !holdsMasked(v) && out[name] == nil {
				if out == nil {
					out = node.Secrets{}
				}
				out[name] = v
			}
		}
	}
	return out
}

func holdsMasked(v any) bool {
	switch v := v.(type) {
	case string:
		return v == mask.Masked
	case []any:
		return slices.ContainsFunc(v, holdsMasked)
	case map[string]any:
		for _, e := range v {
			if holdsMasked(e) {
				return true
			}
		}
	}
	return false
}

// gone are the names of had that n has no place for any more.
func gone(had map[string]secret.Destination, n *node.Node) (out []string) {
	has := secret.Destinations(n)
	for name := range had {
		if _, stays := has[name]; !stays {
			out = append(out, name)
		}
	}
	return out
}

const (
	secretsOfNodeSQL = `
SELECT s.name, s.seal, s.ciphertext FROM secrets s JOIN nodes n ON n.id = s.node_id WHERE n.uuid = @uuid ORDER BY s.name`

	secretOfNodeSQL = `
SELECT s.name, s.seal, s.ciphertext FROM secrets s JOIN nodes n ON n.id = s.node_id WHERE n.uuid = @uuid AND s.name = @name`
)

func scanSealed(r pgx.Row) (x sealedText, err error) { return x, r.Scan(&x.name, &x.version, &x.text) }

// Credentials are the opened secrets of the node, for the activity that needs
// them; they go into no payload, log or error. They open for the destinations
// that n has: where the row has got others since n was read, they do not.
func (s *Store) Credentials(ctx context.Context, n *node.Node) (node.Secrets, error) {
	rows, err := list(ctx, s, "read secrets of node "+n.UUID, secretsOfNodeSQL, args{"uuid": n.UUID}, scanSealed)
	if err != nil {
		return nil, err
	}
	out := make(node.Secrets, len(rows))
	for _, x := range rows {
		if out[x.name], err = s.unseal(n, x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// AgentToken is the token of the node's agent; fault.NotFound where it has none.
func (s *Store) AgentToken(ctx context.Context, nodeUUID string) (string, error) {
	var x sealedText
	found, err := s.one(ctx, "read the agent token of node "+nodeUUID, secretOfNodeSQL,
		args{"uuid": nodeUUID, "name": agentToken}, func(r pgx.Row) (err error) {
			x, err = scanSealed(r)
			return err
		})
	if err != nil {
		return "", err
	}
	if !found {
		return "", fault.New(fault.NotFound, "node %s has no agent token", nodeUUID)
	}
	return s.openToken(nodeUUID, x)
}

// openToken opens an agent's token, whose destination no value of the node decides.
func (s *Store) openToken(nodeUUID string, x sealedText) (string, error) {
	v, err := s.unseal(&node.Node{UUID: nodeUUID}, x)
	token, _ := v.(string)
	return token, err
}
