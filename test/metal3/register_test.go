package metal3_test

import (
	"testing"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/stretchr/testify/require"
)

func TestAHostWithVirtualMediaIsRegistered(t *testing.T) {
	c := start(t, "--nodes", "1", "--drivers", "redfish")
	h := c.host(t, "redfish-virtualmedia", c.RackURL, c.servers[0])
	h.register(access(metal3api.StateRegistering))
	require.Equal(t, "manageable", h.node().State)
	h.register(access(metal3api.StateRegistering)) // a second reconciliation finds it
	h.detach()
}
