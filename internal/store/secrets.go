package store

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
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

func (s *Store) sealAll(nodeUUID string, secrets node.Secrets) (sealed, error) {
	out := sealed{keyID: s.sealer.keyID}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if secrets[name] == nil {
			out.forget = append(out.forget, name)
			continue
		}
		text, err := s.sealer.seal(nodeUUID, name, secrets[name])
		if err != nil {
			return sealed{}, err
		}
		out.names, out.texts = append(out.names, name), append(out.texts, text)
	}
	return out, nil
}

const (
	putSecretsSQL = `
INSERT INTO secrets (node_id, name, key_id, ciphertext)
SELECT @node, s.name, @key, s.ciphertext FROM unnest(@names::text[], @texts::bytea[]) AS s (name, ciphertext)
ON CONFLICT (node_id, name) DO UPDATE SET key_id = excluded.key_id, ciphertext = excluded.ciphertext`

	dropSecretsSQL = `DELETE FROM secrets WHERE node_id = @node AND name = ANY(@names)`
)

func (x sealed) queue(b *pgx.Batch, nodeID int64) {
	if len(x.names) > 0 {
		b.Queue(putSecretsSQL, args{"node": nodeID, "key": x.keyID, "names": x.names, "texts": x.texts})
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
		shown, found := node.Mask(*dict)
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
		return v == node.Masked
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

// places are the names of the secrets that a node's dictionaries hold a place for.
func places(n *node.Node) map[string]bool {
	out := map[string]bool{}
	for prefix, dict := range map[string]map[string]any{inDriverInfo: n.DriverInfo, inInstanceInfo: n.InstanceInfo} {
		_, found := node.Mask(dict)
		for path := range found {
			out[prefix+path] = true
		}
	}
	return out
}

// gone are the names of had that n has no place for any more.
func gone(had map[string]bool, n *node.Node) (out []string) {
	has := places(n)
	for name := range had {
		if !has[name] {
			out = append(out, name)
		}
	}
	return out
}

const (
	secretsOfNodeSQL = `
SELECT s.name, s.ciphertext FROM secrets s JOIN nodes n ON n.id = s.node_id WHERE n.uuid = @uuid ORDER BY s.name`

	secretOfNodeSQL = `
SELECT s.ciphertext FROM secrets s JOIN nodes n ON n.id = s.node_id WHERE n.uuid = @uuid AND s.name = @name`
)

// Credentials are the opened secrets of the node, for the activity that needs
// them; they go into no payload, log or error.
func (s *Store) Credentials(ctx context.Context, nodeUUID string) (node.Secrets, error) {
	type row struct {
		name string
		text []byte
	}
	rows, err := list(ctx, s, "read secrets of node "+nodeUUID, secretsOfNodeSQL, args{"uuid": nodeUUID}, func(r pgx.Row) (x row, err error) {
		return x, r.Scan(&x.name, &x.text)
	})
	if err != nil {
		return nil, err
	}
	out := make(node.Secrets, len(rows))
	for _, x := range rows {
		if out[x.name], err = s.sealer.open(nodeUUID, x.name, x.text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// AgentToken is the token of the node's agent; fault.NotFound where it has none.
func (s *Store) AgentToken(ctx context.Context, nodeUUID string) (string, error) {
	var text []byte
	found, err := s.one(ctx, "read the agent token of node "+nodeUUID, secretOfNodeSQL,
		args{"uuid": nodeUUID, "name": agentToken}, func(r pgx.Row) error { return r.Scan(&text) })
	if err != nil {
		return "", err
	}
	if !found {
		return "", fault.New(fault.NotFound, "node %s has no agent token", nodeUUID)
	}
	return s.openToken(nodeUUID, text)
}

func (s *Store) openToken(nodeUUID string, text []byte) (string, error) {
	v, err := s.sealer.open(nodeUUID, agentToken, text)
	token, _ := v.(string)
	return token, err
}

// ReSecret puts secrets back into a dictionary of a row: those whose names begin
// with prefix ("driver_info", "instance_info"). dict is not changed.
func ReSecret(dict map[string]any, secrets node.Secrets, prefix string) map[string]any {
	mine := map[string]any{}
	for name, v := range secrets {
		if path, ok := strings.CutPrefix(name, prefix); ok && strings.HasPrefix(path, "/") {
			mine[path] = v
		}
	}
	if dict == nil {
		dict = map[string]any{}
	}
	return node.Unmask(dict, mine)
}

const (
	oldSecretsSQL = `
SELECT s.node_id, n.uuid::text, s.name, s.ciphertext FROM secrets s JOIN nodes n ON n.id = s.node_id
 WHERE s.key_id < @key OR s.key_id > @key ORDER BY s.node_id, s.name LIMIT 500` // <> uses no index

	// Whoever writes secrets of a node holds its row.
	holdNodesSQL = `SELECT n.id FROM nodes n WHERE n.id = ANY (@ids) ORDER BY n.id FOR NO KEY UPDATE`

	resealSQL = `
UPDATE secrets SET key_id = @key, ciphertext = @fresh WHERE node_id = @node AND name = @name AND ciphertext = @old`
)

type oldSecret struct {
	node       int64
	uuid, name string
	text       []byte
}

// Rotate seals again, with the primary key, what other keys of the keyset have
// sealed, and tells how many secrets that were. It may run beside everything
// else and again after it was interrupted.
func (s *Store) Rotate(ctx context.Context) (int, error) {
	if s.sealer.aead == nil {
		return 0, errNoKeys
	}
	total := 0
	for {
		old, err := list(ctx, s, "list secrets to seal again", oldSecretsSQL, args{"key": s.sealer.keyID}, func(r pgx.Row) (o oldSecret, err error) {
			return o, r.Scan(&o.node, &o.uuid, &o.name, &o.text)
		})
		if err != nil || len(old) == 0 {
			return total, err
		}
		if err := s.reseal(ctx, old); err != nil {
			return total, err
		}
		total += len(old)
	}
}

func (s *Store) reseal(ctx context.Context, old []oldSecret) error {
	b := &pgx.Batch{} // one transaction
	ids := make([]int64, 0, len(old))
	for _, o := range old {
		ids = append(ids, o.node)
	}
	b.Queue(holdNodesSQL, args{"ids": ids})
	for _, o := range old {
		v, err := s.sealer.open(o.uuid, o.name, o.text)
		if err != nil {
			return err
		}
		fresh, err := s.sealer.seal(o.uuid, o.name, v)
		if err != nil {
			return err
		}
		// One that was written meanwhile has other bytes, and the primary key.
		b.Queue(resealSQL, args{"key": s.sealer.keyID, "fresh": fresh, "node": o.node, "name": o.name, "old": o.text})
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	return mapError("seal secrets again", s.pool.SendBatch(ctx, b).Close())
}
