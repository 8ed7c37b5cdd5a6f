package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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

// Somebody who can write to the database but has no keys can't have a password sent to another address.
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

// A reader that has an old row must not get the password that belongs to the new row.
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

func TestRotationKeepsWhatASealIsBoundTo(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := withBMC(t, s)
	newer, err := store.AddKey(keyset)
	require.NoError(t, err)
	both := connect(t, store.Config{URL: url, Keyset: newer})
	count, err := both.Rotate(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, count)
	secrets, err := credentials(t, both, n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Secrets{bmcPassword: "hunter2"}, secrets)
	raw(t, url, `UPDATE nodes SET driver_info = driver_info || '{"redfish_address": "http://elsewhere"}'`)
	_, err = credentials(t, both, n.UUID)
	kind(t, fault.Internal, err)
}
