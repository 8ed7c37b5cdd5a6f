package store

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// sealedColumns are the columns of a record's secrets, which are sealed as one value.
func sealedColumns[T any](hidden func(*T) *node.Hidden) []column[T] {
	return []column[T]{
		integer("key_id", func(t *T) *int64 { return &hidden(t).Sealed.KeyID }).by(onCreate | onPatch),
		integer("seal", func(t *T) *int16 { return &hidden(t).Sealed.Version }).by(onCreate | onPatch),
		other("ciphertext", func(t *T) *[]byte { return &hidden(t).Sealed.Text }, func(t *T, _ *dicts) any { return hidden(t).Sealed.Text }).by(onCreate | onPatch),
	}
}

// sealedRecord is what the secrets of a record are bound to: they open for no other.
func (r *records[T]) sealedRecord(uuid string) (n *node.Node, name string) {
	return &node.Node{UUID: uuid}, r.name
}

// seal seals the secrets of t. The error is fault.SecretUnreadable if t still has some that do not open.
func (r *records[T]) seal(s *Store, t *T) error {
	if r.hidden == nil {
		return nil
	}
	h := r.hidden(t)
	if h.Unreadable != nil { // the masks of t stand for them
		return h.Unreadable
	}
	h.Sealed = node.SealedText{}
	if len(h.Clear) == 0 {
		return nil
	}
	n, name := r.sealedRecord(r.record(t).UUID)
	keys := s.keys()
	text, err := keys.seal(n, name, h.Clear)
	h.Sealed = node.SealedText{KeyID: keys.keyID, Version: sealVersion, Text: text}
	return err
}

// open opens the secrets of t, or notes in t that they do not open.
func (r *records[T]) open(s *Store, t *T) {
	if r.hidden == nil {
		return
	}
	h := r.hidden(t)
	if len(h.Sealed.Text) == 0 {
		return
	}
	uuid := r.record(t).UUID
	n, name := r.sealedRecord(uuid)
	v, err := s.unseal(n, sealedText{name: name, version: h.Sealed.Version, text: h.Sealed.Text})
	if err != nil {
		h.Unreadable = fault.CodedAs(fault.Conflict, fault.SecretUnreadable, "the secrets of %s do not open with the keys of this process; give them again, or delete the %s", r.doing("the", uuid), r.what)
		return
	}
	h.Clear, _ = v.(map[string]any)
}

// rotate is Rotate for the secrets of records.
func (r *records[T]) rotate(ctx context.Context, s *Store) (total int, err error) {
	type sealed struct {
		id   int64
		uuid string
		sealedText
	}
	var closed error
	keys := s.keys()
	a := args{"key": keys.keyID, "after": int64(0)}
	for {
		old, err := list(ctx, s, "list secrets to seal again", "SELECT r.id, r.uuid::text, r.seal, r.ciphertext FROM "+r.name+
			" r WHERE r.ciphertext IS NOT NULL AND r.key_id <> @key AND r.id > @after ORDER BY r.id LIMIT 500", a, func(row pgx.Row) (o sealed, err error) {
			return o, row.Scan(&o.id, &o.uuid, &o.version, &o.text)
		})
		if err != nil || len(old) == 0 {
			return total, cmp.Or(err, closed)
		}
		for _, o := range old {
			a["after"] = o.id
			n, name := r.sealedRecord(o.uuid)
			o.name = name
			v, err := s.unseal(n, o.sealedText)
			if err != nil {
				closed = cmp.Or(closed, err)
				continue
			}
			fresh, err := keys.seal(n, name, v)
			if err != nil {
				return total, err
			}
			rows, err := s.exec(ctx, "seal secrets again", "UPDATE "+r.name+" SET key_id = @key, seal = @seal, ciphertext = @fresh WHERE id = @id AND ciphertext = @old",
				args{"key": keys.keyID, "seal": sealVersion, "fresh": fresh, "id": o.id, "old": o.text})
			if err != nil {
				return total, err
			}
			total += int(rows)
		}
	}
}
