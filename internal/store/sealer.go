package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"go.temper.dev/temper/internal/fault"
)

// errKeyset is all that is told of a keyset that can't be read: the library's
// words could repeat parts of it.
var errKeyset = errors.New("it is not the JSON of a tink AEAD keyset")

// sealer seals values with the primary key and opens them with any of the keyset.
type sealer struct {
	aead  tink.AEAD // nil = no keys: nothing can be sealed or opened
	keyID int64     // of the primary key
}

// NewKeyset makes a keyset with one key, as JSON in the clear: for a file that
// only the program may read, or a secret in its environment.
func NewKeyset() (string, error) {
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return "", err
	}
	return keysetJSON(h)
}

// AddKey is the keyset with a new primary key. What the older keys sealed can
// still be opened; Rotate seals it again with the new one, after which the
// older keys may be taken out.
func AddKey(keysetText string) (string, error) {
	h, err := readKeyset(keysetText)
	if err != nil {
		return "", err
	}
	m := keyset.NewManagerFromHandle(h)
	id, err := m.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return "", err
	}
	if err := m.SetPrimary(id); err != nil {
		return "", err
	}
	if h, err = m.Handle(); err != nil {
		return "", err
	}
	return keysetJSON(h)
}

func keysetJSON(h *keyset.Handle) (string, error) {
	var b bytes.Buffer
	err := insecurecleartextkeyset.Write(h, keyset.NewJSONWriter(&b))
	return b.String(), err
}

func readKeyset(text string) (*keyset.Handle, error) {
	h, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(strings.NewReader(text)))
	if err != nil {
		return nil, fault.New(fault.Invalid, "keyset: %w", errKeyset)
	}
	return h, nil
}

func newSealer(text string) (*sealer, error) {
	if strings.TrimSpace(text) == "" {
		return &sealer{}, nil
	}
	h, err := readKeyset(text)
	if err != nil {
		return nil, err
	}
	primary, err := h.Primary()
	if err != nil {
		return nil, fault.New(fault.Invalid, "keyset: %w", errKeyset)
	}
	a, err := aead.New(h)
	if err != nil {
		return nil, fault.New(fault.Invalid, "keyset: %w", errKeyset)
	}
	return &sealer{aead: a, keyID: int64(primary.KeyID())}, nil
}

var errNoKeys = fault.New(fault.Internal, "there is a secret and no keyset to seal it with")

// seal binds the value to its node and name: a row that is copied to another
// node does not open there.
func (s *sealer) seal(nodeUUID, name string, value any) ([]byte, error) {
	if s.aead == nil {
		return nil, errNoKeys
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, fault.New(fault.Invalid, "secret %s of node %s has no JSON form", name, nodeUUID)
	}
	return s.aead.Encrypt(plain, associated(nodeUUID, name))
}

func (s *sealer) open(nodeUUID, name string, ciphertext []byte) (value any, err error) {
	if s.aead == nil {
		return nil, errNoKeys
	}
	plain, err := s.aead.Decrypt(ciphertext, associated(nodeUUID, name))
	if err != nil {
		return nil, fault.New(fault.Internal, "secret %s of node %s does not open with the keys of this process", name, nodeUUID)
	}
	if err := json.Unmarshal(plain, &value); err != nil {
		return nil, fault.New(fault.Internal, "secret %s of node %s is not what was sealed", name, nodeUUID)
	}
	return value, nil
}

func associated(nodeUUID, name string) []byte { return []byte(nodeUUID + "/" + name) }
