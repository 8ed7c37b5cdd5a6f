package store

import (
	"crypto/hkdf"
	"crypto/sha256"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"

	"go.temper.dev/temper/internal/fault"
)

// DeriveKey returns a key of 32 bytes for a purpose, which all processes with the same primary key in their keyset have (HKDF, RFC 5869).
// A new primary key makes another one.
func DeriveKey(keysetText, purpose string) (key [32]byte, err error) {
	h, err := readKeyset(keysetText)
	if err != nil {
		return key, err
	}
	all := insecurecleartextkeyset.KeysetMaterial(h)
	for _, k := range all.GetKey() {
		if k.GetKeyId() == all.GetPrimaryKeyId() {
			derived, err := hkdf.Key(sha256.New, k.GetKeyData().GetValue(), nil, purpose, len(key))
			copy(key[:], derived)
			return key, err
		}
	}
	return key, fault.New(fault.Invalid, "keyset: %w", errKeyset)
}
