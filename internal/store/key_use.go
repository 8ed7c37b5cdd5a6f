package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"go.temper.dev/temper/internal/fault"
)

// Key is a key of a keyset.
type Key struct {
	ID      int64 `json:"id"`
	Primary bool  `json:"primary"` // it seals; the others only open
	Sealed  int   `json:"sealed"`  // how many values it has sealed
	Missing bool  `json:"missing"` // the keyset does not have it, so what it has sealed does not open
}

// PrepareKey is the keyset with a new key that opens and does not seal yet. So all processes can get it before the first value is sealed with
// it. AddKey makes it the primary key.
func PrepareKey(keysetText string) (string, error) {
	h, err := readKeyset(keysetText)
	if err != nil {
		return "", err
	}
	m := keyset.NewManagerFromHandle(h)
	if _, err := m.Add(aead.AES256GCMKeyTemplate()); err != nil {
		return "", err
	}
	if h, err = m.Handle(); err != nil {
		return "", err
	}
	return keysetJSON(h)
}

// prepared returns the key that PrepareKey has added, if it does not seal yet: the last one.
func prepared(h *keyset.Handle) (id uint32, ok bool) {
	last, err := h.Entry(h.Len() - 1)
	if err != nil || last.IsPrimary() {
		return 0, false
	}
	return last.KeyID(), true
}

// RetireKeys is the keyset without the keys with which nothing is sealed, and tells which these were. The primary key stays, and so does one
// that was prepared to be the next.
func RetireKeys(keysetText string, uses []Key) (after string, retired []int64, err error) {
	h, err := readKeyset(keysetText)
	if err != nil {
		return "", nil, err
	}
	keep := map[int64]bool{}
	for _, k := range uses {
		keep[k.ID] = k.Primary || k.Sealed > 0
	}
	if id, ok := prepared(h); ok {
		keep[int64(id)] = true
	}
	m := keyset.NewManagerFromHandle(h)
	for i := range h.Len() {
		e, err := h.Entry(i)
		if err != nil {
			return "", nil, fault.New(fault.Invalid, "keyset: %w", errKeyset)
		}
		if id := int64(e.KeyID()); !keep[id] && !e.IsPrimary() {
			if err := m.Delete(e.KeyID()); err != nil {
				return "", nil, err
			}
			retired = append(retired, id)
		}
	}
	if h, err = m.Handle(); err != nil {
		return "", nil, err
	}
	after, err = keysetJSON(h)
	return after, retired, err
}

// keyUseSQL counts what each key has sealed. The digests of requests have no column for it: a ciphertext of tink begins with a byte and the key's id.
const keyUseSQL = `
SELECT u.key_id, count(*) FROM (
	SELECT key_id FROM secrets
	UNION ALL SELECT key_id FROM webhooks
	UNION ALL SELECT key_id FROM volume_targets WHERE ciphertext IS NOT NULL
	UNION ALL SELECT key_id FROM deploy_templates WHERE ciphertext IS NOT NULL
	UNION ALL SELECT key_id FROM runbooks WHERE ciphertext IS NOT NULL
	UNION ALL SELECT ('x' || lpad(encode(substring(digest FROM 2 FOR 4), 'hex'), 16, '0'))::bit(64)::bigint FROM idempotency_keys) u
 GROUP BY u.key_id`

// KeyUses returns the keys of this process, in the order in which they were made, and those that it lacks although something is sealed with them.
func (s *Store) KeyUses(ctx context.Context) ([]Key, error) {
	type use struct {
		id    int64
		count int
	}
	rows, err := list(ctx, s, "count what keys have sealed", keyUseSQL, args{}, func(r pgx.Row) (u use, err error) { return u, r.Scan(&u.id, &u.count) })
	if err != nil {
		return nil, err
	}
	uses := map[int64]int{}
	for _, u := range rows {
		uses[u.id] = u.count
	}
	out := s.keys().list()
	for i := range out {
		out[i].Sealed = uses[out[i].ID]
		delete(uses, out[i].ID)
	}
	for _, u := range rows {
		if _, missing := uses[u.id]; missing {
			out = append(out, Key{ID: u.id, Sealed: u.count, Missing: true})
		}
	}
	return out, nil
}

// list returns the keys, the oldest first.
func (s *sealer) list() []Key {
	out := []Key{}
	if s.handle == nil {
		return out
	}
	for i := range s.handle.Len() {
		if e, err := s.handle.Entry(i); err == nil {
			out = append(out, Key{ID: int64(e.KeyID()), Primary: e.IsPrimary()})
		}
	}
	return out
}
