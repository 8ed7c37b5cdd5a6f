package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// errKeyset is all that is told of a keyset that can't be read: the library's
// words could repeat parts of it.
var errKeyset = errors.New("it is not the JSON of a tink AEAD keyset")

// sealer seals values with the primary key and opens them with any of the keyset.
type sealer struct {
	handle *keyset.Handle
	aead   tink.AEAD // nil = no keys: nothing can be sealed or opened
	keyID  int64     // of the primary key
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

// AddKey is the keyset with a new primary key: the one that PrepareKey has added, if there is one. What the older keys sealed can
// still be opened; Rotate seals it again with the new one, after which RetireKeys takes the older ones out.
func AddKey(keysetText string) (string, error) {
	h, err := readKeyset(keysetText)
	if err != nil {
		return "", err
	}
	m := keyset.NewManagerFromHandle(h)
	id, ok := prepared(h)
	if !ok {
		if id, err = m.Add(aead.AES256GCMKeyTemplate()); err != nil {
			return "", err
		}
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
	return &sealer{handle: h, aead: a, keyID: int64(primary.KeyID())}, nil
}

var errNoKeys = fault.New(fault.Internal, "there is a secret and no keyset to seal it with")

// sealVersion is the version of seals; each sealed value has its own beside it. A change of what a
// seal is bound to needs a new version, and a migration that seals again what has the old one.
const sealVersion = 2

// sealedText is a sealed value as it is stored.
type sealedText struct {
	name    string
	version int16
	text    []byte
}

// seal binds the value to its node, its name and its destination: a row that is
// copied to another node does not open there, and neither does one whose node is
// given another BMC without the password.
func (s *sealer) seal(n *node.Node, name string, value any) ([]byte, error) {
	if s.aead == nil {
		return nil, errNoKeys
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, fault.New(fault.Invalid, "secret %s of node %s has no JSON form", name, n.UUID)
	}
	bound, err := associated(n, name)
	if err != nil {
		return nil, err
	}
	return s.aead.Encrypt(plain, bound)
}

// open opens a value for n's current destination, to which the caller is about to
// send it.
func (s *sealer) open(n *node.Node, x sealedText) (value any, err error) {
	if s.aead == nil {
		return nil, errNoKeys
	}
	if x.version != sealVersion {
		return nil, fault.New(fault.Internal, "secret %s of node %s was sealed by another version of the program", x.name, n.UUID)
	}
	bound, err := associated(n, x.name)
	if err != nil {
		return nil, err
	}
	plain, err := s.aead.Decrypt(x.text, bound)
	if err != nil {
		return nil, notOpened(n, x)
	}
	if err := jsonvalue.Unmarshal(plain, &value); err != nil {
		return nil, fault.New(fault.Internal, "secret %s of node %s is not what was sealed", x.name, n.UUID)
	}
	return value, nil
}

// notOpened names both possible causes, because authenticated encryption does not
// show which one it is.
func notOpened(n *node.Node, x sealedText) error {
	by := slices.Sorted(maps.Keys(secret.DestinationOf(n, x.name)))
	if len(by) == 0 {
		return fault.Coded(fault.SecretUnreadable, "secret %s of node %s does not open with the keys of this process", x.name, n.UUID)
	}
	return fault.Coded(fault.SecretUnreadable, "secret %s of node %s does not open: this process has other keys, or %s has changed since the secret was given; give the secret again",
		x.name, n.UUID, strings.Join(by, " or "))
}

func associated(n *node.Node, name string) ([]byte, error) {
	text, err := json.Marshal([]any{sealVersion, n.UUID, name, secret.DestinationOf(n, name)})
	if err != nil {
		return nil, fault.New(fault.Internal, "the destination of secret %s of node %s has no JSON form: %w", name, n.UUID, err)
	}
	return text, nil
}
