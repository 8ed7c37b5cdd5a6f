package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	tinkkeyset "github.com/tink-crypto/tink-go/v2/keyset"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

const bmcPassword = "driver_info/redfish_password"

// withBMC is a node whose BMC has a sealed password.
func withBMC(t *testing.T, s *store.Store) *node.Node {
	t.Helper()
	n := &node.Node{
		Driver: "redfish", ProvisionState: node.Available,
		DriverInfo: map[string]any{"redfish_address": "https://bmc", "redfish_password": mask.Masked},
	}
	require.NoError(t, s.CreateNode(t.Context(), n, node.Secrets{bmcPassword: "hunter2"}, "admin"))
	return n
}

// Who can write the database, and has no keys, can't have a password sent elsewhere.
func TestASecretOpensOnlyForItsDestination(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := withBMC(t, s)
	secrets, err := credentials(t, s, n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Secrets{bmcPassword: "hunter2"}, secrets)
	for _, change := range []string{
		`driver_info = driver_info || '{"redfish_address": "http://elsewhere"}'`,
		`driver_info = driver_info || '{"redfish_verify_ca": false}'`,
		`driver = 'fake-hardware'`,
	} {
		raw(t, url, "UPDATE nodes SET "+change)
		_, err := credentials(t, s, n.UUID)
		kind(t, fault.Internal, err)
		require.ErrorContains(t, err, bmcPassword)
		require.ErrorContains(t, err, "driver_info/redfish_address")
		require.NotContains(t, err.Error(), "elsewhere")
		now, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		open, err := s.DriverSecrets(t.Context(), []node.Node{*now})
		require.NoError(t, err)
		require.Empty(t, open)
		raw(t, url, `UPDATE nodes SET driver = 'redfish', driver_info = driver_info - 'redfish_verify_ca' || '{"redfish_address": "https://bmc"}'`)
	}
	raw(t, url, `UPDATE nodes SET driver_info = driver_info || '{"deploy_iso": "http://elsewhere", "redfish_verify_ca": ""}'`)
	_, err = credentials(t, s, n.UUID)
	require.NoError(t, err)
}

// A reader that has an old row must not get the password that belongs to the new one.
func TestASecretDoesNotOpenForWhatTheNodeWasBefore(t *testing.T) {
	t.Parallel()
	s := open(t)
	before := withBMC(t, s)
	_, err := s.UpdateNode(t.Context(), before.UUID, "admin", func(n *node.Node) (node.Secrets, error) {
		n.DriverInfo = map[string]any{"redfish_address": "https://second", "redfish_password": mask.Masked}
		return node.Secrets{bmcPassword: "swordfish"}, nil
	})
	require.NoError(t, err)
	_, err = s.Credentials(t.Context(), before)
	kind(t, fault.Internal, err)
	open, err := s.DriverSecrets(t.Context(), []node.Node{*before})
	require.NoError(t, err)
	require.Empty(t, open)
}

func TestWhatChangesADestinationOutsideOfAPatchIsRefusedToo(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := withBMC(t, s)
	const header = "instance_info/image_request_authorization_secret"
	_, err := s.UpdateNode(t.Context(), n.UUID, "admin", func(n *node.Node) (node.Secrets, error) {
		n.InstanceInfo = map[string]any{"image_source": "https://images/a", "image_request_authorization_secret": mask.Masked}
		return node.Secrets{header: "user:secret"}, nil
	})
	require.NoError(t, err)
	_, err = s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Apply: func(n *node.Node) { n.InstanceInfo["image_source"] = "http://elsewhere/a" }}, nil
	})
	kind(t, fault.Invalid, err)
	require.ErrorContains(t, err, header)
	_, err = credentials(t, s, n.UUID)
	require.NoError(t, err)
}

// sealedBefore seals as version 1 of the seal did, and marks the rows so.
func sealedBefore(t *testing.T, url, keys string, n *node.Node, secrets map[string]string) {
	t.Helper()
	h, err := insecurecleartextkeyset.Read(tinkkeyset.NewJSONReader(strings.NewReader(keys)))
	require.NoError(t, err)
	primary, err := h.Primary()
	require.NoError(t, err)
	a, err := aead.New(h)
	require.NoError(t, err)
	b := &pgx.Batch{}
	for name, value := range secrets {
		text, err := a.Encrypt(fmt.Appendf(nil, "%q", value), []byte(n.UUID+"/"+name))
		require.NoError(t, err)
		b.Queue(`INSERT INTO secrets (node_id, name, key_id, seal, ciphertext) VALUES ($1, $2, $3, 1, $4)
			ON CONFLICT (node_id, name) DO UPDATE SET key_id = excluded.key_id, seal = 1, ciphertext = excluded.ciphertext`, n.ID, name, int64(primary.KeyID()), text)
	}
	require.NoError(t, beside(t, url).SendBatch(t.Context(), b).Close())
}

func TestSealsOfBeforeAreRenewed(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n, other := withBMC(t, s), withBMC(t, s)
	before := map[string]string{bmcPassword: "hunter2", "agent_token": "token", "instance_info/configdrive": "drive"}
	for i := range 1100 { // more than a batch
		before[fmt.Sprintf("operation/1/steps/%04d", i)] = "arg"
	}
	sealedBefore(t, url, keyset, n, before)
	_, err := credentials(t, s, n.UUID)
	kind(t, fault.Internal, err)
	require.ErrorContains(t, err, "temper migrate")

	_, err = store.Upgrade(t.Context(), store.Config{URL: url})
	kind(t, fault.Invalid, err)
	require.ErrorContains(t, err, "keyset_file")
	strange, err := store.NewKeyset()
	require.NoError(t, err)
	done, err := store.Upgrade(t.Context(), store.Config{URL: url, Keyset: strange})
	require.ErrorContains(t, err, "is this the keyset of the other roles?")
	require.Zero(t, done.Renewed)

	raw(t, url, `UPDATE secrets SET ciphertext = 'spoilt' WHERE name = 'operation/1/steps/0007'`)
	done, err = store.Upgrade(t.Context(), store.Config{URL: url, Keyset: keyset})
	require.NoError(t, err)
	require.Equal(t, len(before)-1, done.Renewed)
	require.Len(t, done.Closed, 1, "what nobody can open keeps nothing else from being renewed")
	raw(t, url, `DELETE FROM secrets WHERE name = 'operation/1/steps/0007'`)
	secrets, err := credentials(t, s, n.UUID)
	require.NoError(t, err)
	delete(before, "operation/1/steps/0007")
	for name, value := range before {
		require.Equal(t, value, secrets[name])
	}
	require.Len(t, secrets, len(before))
	token, err := s.AgentToken(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, "token", token)
	raw(t, url, `UPDATE nodes SET driver_info = driver_info || '{"redfish_address": "http://elsewhere"}'`)
	_, err = credentials(t, s, n.UUID)
	kind(t, fault.Internal, err)

	done, err = store.Upgrade(t.Context(), store.Config{URL: url})
	require.NoError(t, err, "nothing is left to renew, and so no keys are needed")
	require.Zero(t, done)
	_, err = credentials(t, s, other.UUID)
	kind(t, fault.Internal, err)
}

func TestRotationKeepsWhatASealIsBoundTo(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := withBMC(t, s)
	newer, err := store.AddKey(keyset)
	require.NoError(t, err)
	both := connect(t, store.Config{URL: url, Keyset: newer})
	count, err := both.Rotate(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, count)
	secrets, err := credentials(t, both, n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Secrets{bmcPassword: "hunter2"}, secrets)
	raw(t, url, `UPDATE nodes SET driver_info = driver_info || '{"redfish_address": "http://elsewhere"}'`)
	_, err = credentials(t, both, n.UUID)
	kind(t, fault.Internal, err)
}
