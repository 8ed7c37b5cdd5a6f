package store

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

const (
	// It also selects the values that the seal is bound to.
	oldKeysSQL = `
SELECT s.node_id, n.uuid::text, n.driver, n.driver_info, n.instance_info, s.name, s.seal, s.ciphertext FROM secrets s JOIN nodes n ON n.id = s.node_id
 WHERE (s.key_id < @key OR s.key_id > @key) AND (s.node_id, s.name) > (@after, @after_name)
 ORDER BY s.node_id, s.name LIMIT 500` // <> uses no index

	// Whoever writes secrets of a node holds its row.
	holdNodesSQL = `SELECT n.id FROM nodes n WHERE n.id = ANY (@ids) ORDER BY n.id FOR NO KEY UPDATE`

	// One that was written meanwhile has other bytes, the primary key and the newest
	// seal. A destination changes only together with them.
	resealSQL = `
UPDATE secrets s SET key_id = @key, seal = @seal, ciphertext = f.fresh
  FROM unnest(@nodes::bigint[], @names::text[], @old::bytea[], @fresh::bytea[]) AS f (node_id, name, old, fresh)
 WHERE s.node_id = f.node_id AND s.name = f.name AND s.ciphertext = f.old`
)

type oldSecret struct {
	node node.Node
	sealedText
}

// Rotate seals again, with the primary key, what other keys of the keyset have sealed for nodes, webhooks and records, and tells how
// many secrets that were. It may run beside everything else and again after it was interrupted. A secret that does not open
// stays as it is; the error is of the first one. told is called now and then with how many are done; nil = it is not called.
func (s *Store) Rotate(ctx context.Context, told func(done int)) (int, error) {
	if told == nil {
		told = func(int) {}
	}
	nodes, err := s.rotateNodes(ctx, told)
	hooks, failed := s.rotateWebhooks(ctx)
	total, err := nodes+hooks, cmp.Or(err, failed)
	for _, rotate := range []func(context.Context, *Store) (int, error){volumeTargets.rotate, deployTemplates.rotate, runbooks.rotate} {
		n, failed := rotate(ctx, s)
		total, err = total+n, cmp.Or(err, failed)
		told(total)
	}
	return total, err
}

func (s *Store) rotateNodes(ctx context.Context, told func(done int)) (total int, err error) {
	keys := s.keys()
	if keys.aead == nil {
		return 0, errNoKeys
	}
	var closed error
	a := args{"key": keys.keyID, "after": int64(0), "after_name": ""}
	for {
		old, err := list(ctx, s, "list secrets to seal again", oldKeysSQL, a, func(r pgx.Row) (o oldSecret, err error) {
			return o, r.Scan(&o.node.ID, &o.node.UUID, &o.node.Driver, &o.node.DriverInfo, &o.node.InstanceInfo, &o.name, &o.version, &o.text)
		})
		if err != nil || len(old) == 0 {
			return total, cmp.Or(err, closed)
		}
		n, shut, err := s.reseal(ctx, keys, old)
		total, closed = total+n, cmp.Or(closed, shut)
		told(total)
		if err != nil {
			return total, err
		}
		last := old[len(old)-1]
		a["after"], a["after_name"] = last.node.ID, last.name
	}
}

// reseal is one transaction. closed says why the first of the secrets that do not open does not.
func (s *Store) reseal(ctx context.Context, keys *sealer, old []oldSecret) (count int, closed, err error) {
	var ids []int64
	var names []string
	var before, fresh [][]byte
	for _, o := range old {
		v, err := s.unseal(&o.node, o.sealedText)
		if err != nil {
			closed = cmp.Or(closed, err)
			continue
		}
		text, err := keys.seal(&o.node, o.name, v)
		if err != nil {
			return 0, closed, err
		}
		ids, names, before, fresh = append(ids, o.node.ID), append(names, o.name), append(before, o.text), append(fresh, text)
	}
	b := &pgx.Batch{}
	b.Queue(holdNodesSQL, args{"ids": ids})
	b.Queue(resealSQL, args{"key": keys.keyID, "seal": sealVersion, "nodes": ids, "names": names, "old": before, "fresh": fresh})
	c := s.call("seal secrets again")
	return len(ids), closed, c.fail(c.send(ctx, s.pool, b))
}
