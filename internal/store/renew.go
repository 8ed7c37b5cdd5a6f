package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const (
	// Both also select the values that the seal is bound to.

	oldKeysSQL = `
SELECT s.node_id, n.uuid::text, n.driver, n.driver_info, n.instance_info, s.name, s.seal, s.ciphertext FROM secrets s JOIN nodes n ON n.id = s.node_id
 WHERE (s.key_id < @key OR s.key_id > @key) AND (s.node_id, s.name) > (@after, @after_name)
 ORDER BY s.node_id, s.name LIMIT 500` // <> uses no index

	// The condition is that of the index secrets_to_renew.
	oldSealsSQL = `
SELECT s.node_id, n.uuid::text, n.driver, n.driver_info, n.instance_info, s.name, s.seal, s.ciphertext FROM secrets s JOIN nodes n ON n.id = s.node_id
 WHERE s.seal < 2 AND (s.node_id, s.name) > (@after, @after_name)
 ORDER BY s.node_id, s.name LIMIT 500`

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

// Rotate seals again, with the primary key, what other keys of the keyset have
// sealed, and tells how many secrets that were. It may run beside everything
// else and again after it was interrupted.
func (s *Store) Rotate(ctx context.Context) (int, error) {
	total, closed, err := s.resealAll(ctx, oldKeysSQL, args{"key": s.sealer.keyID})
	if err == nil && len(closed) > 0 {
		err = closed[0]
	}
	return total, err
}

// Renew seals again what an older version of the program has sealed, as Rotate does,
// and returns how many secrets that were. Secrets that do not open stay as they are,
// and Renew returns their errors: nobody can use them, so they must not stop an upgrade.
func (s *Store) Renew(ctx context.Context) (renewed int, closed []error, err error) {
	return s.resealAll(ctx, oldSealsSQL, args{})
}

func (s *Store) resealAll(ctx context.Context, find string, a args) (total int, closed []error, err error) {
	if s.sealer.aead == nil {
		return 0, nil, errNoKeys
	}
	a["after"], a["after_name"] = int64(0), ""
	for {
		old, err := list(ctx, s, "list secrets to seal again", find, a, func(r pgx.Row) (o oldSecret, err error) {
			return o, r.Scan(&o.node.ID, &o.node.UUID, &o.node.Driver, &o.node.DriverInfo, &o.node.InstanceInfo, &o.name, &o.version, &o.text)
		})
		if err != nil || len(old) == 0 {
			return total, closed, err
		}
		n, shut, err := s.reseal(ctx, old)
		total, closed = total+n, append(closed, shut...)
		if err != nil {
			return total, closed, err
		}
		last := old[len(old)-1]
		a["after"], a["after_name"] = last.node.ID, last.name
	}
}

// reseal is one transaction.
func (s *Store) reseal(ctx context.Context, old []oldSecret) (count int, closed []error, err error) {
	var ids []int64
	var names []string
	var before, fresh [][]byte
	for _, o := range old {
		v, err := s.sealer.openBefore(&o.node, o.sealedText)
		if err != nil {
			closed = append(closed, err)
			continue
		}
		text, err := s.sealer.seal(&o.node, o.name, v)
		if err != nil {
			return 0, nil, err
		}
		ids, names, before, fresh = append(ids, o.node.ID), append(names, o.name), append(before, o.text), append(fresh, text)
	}
	b := &pgx.Batch{}
	b.Queue(holdNodesSQL, args{"ids": ids})
	b.Queue(resealSQL, args{"key": s.sealer.keyID, "seal": sealVersion, "nodes": ids, "names": names, "old": before, "fresh": fresh})
	ctx, cancel := s.within(ctx)
	defer cancel()
	return len(ids), closed, mapError("seal secrets again", s.pool.SendBatch(ctx, b).Close())
}

const (
	hasSchemaSQL  = `SELECT to_regclass('schema_migrations') IS NOT NULL`
	anyOldSealSQL = `SELECT EXISTS (SELECT FROM secrets WHERE seal < 2)`
)

// Upgraded is the result of Upgrade.
type Upgraded struct {
	Renewed int     // secrets that were sealed again
	Closed  []error // one for each secret that does not open and so was not sealed again
}

// Upgrade calls Migrate, and then seals again what an older version of the program has
// sealed. It may be repeated after it was interrupted. If there is something to seal
// again and no keyset, it fails before it changes anything.
func Upgrade(ctx context.Context, c Config) (done Upgraded, err error) {
	s, err := Open(ctx, c)
	if err != nil {
		return done, err
	}
	defer s.Close()
	old, err := s.hasOldSeals(ctx)
	if err != nil {
		return done, err
	}
	if old && s.sealer.aead == nil {
		return done, fault.New(fault.Invalid, "there are secrets in the database that an older version of the program has sealed, and there is no keyset to seal them again with: "+
			"set keyset_file or keyset to the keys that the other roles have, and migrate again; nothing was changed")
	}
	if err := s.Migrate(ctx); err != nil || !old {
		return done, err
	}
	done.Renewed, done.Closed, err = s.Renew(ctx)
	if err == nil && done.Renewed == 0 && len(done.Closed) > 0 {
		err = fmt.Errorf("the tables are up to date, but none of the %d secrets that are to be sealed again opens; is this the keyset of the other roles? %w", len(done.Closed), done.Closed[0])
	}
	return done, err
}

// hasOldSeals looks also at a database that is not migrated yet.
func (s *Store) hasOldSeals(ctx context.Context) (old bool, err error) {
	const what = "look for secrets to seal again"
	scan := func(r pgx.Row) error { return r.Scan(&old) }
	if _, err := s.one(ctx, what, hasSchemaSQL, nil, scan); err != nil || !old {
		return false, err
	}
	_, err = s.one(ctx, what, anyOldSealSQL, nil, scan)
	return old, err
}
