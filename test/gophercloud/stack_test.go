// Package gophercloud_test has gophercloud, the Go client of OpenStack, use every function that it has for Ironic's API, against a
// running stack. What is written is read back. coverage_test.go says what is left out, and why.
package gophercloud_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/apiversions"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/noauth"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/test/stack"
)

const settings = `
power_timeout: 10s
rack_power_delay: 20ms
rack_boot_delay: 50ms
rack_step_delay: 10ms
`

// patience is how long to wait for what happens soon, on a machine that may be very busy.
const patience = 90 * time.Second

// cloud is a running stack and gophercloud's client of it.
type cloud struct {
	*stack.Stack
	*gophercloud.ServiceClient
	servers []stack.Server // the BMC of the second one sends events
}

func start(t *testing.T) *cloud {
	t.Helper()
	s := stack.Config{Settings: settings, Args: []string{
		"--enroll=false", "--nodes", "4", "--conductors", "1", "--drivers", "redfish,fake-hardware", "--persona", "generic,ilo5",
	}}.For(t)
	c := &cloud{Stack: s}
	var err error
	c.servers, err = s.Servers(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(c.servers), 2)
	c.ServiceClient, err = noauth.NewBareMetalNoAuth(noauth.EndpointOpts{IronicEndpoint: s.APIURL + "/v1"})
	require.NoError(t, err)
	root, err := noauth.NewBareMetalNoAuth(noauth.EndpointOpts{IronicEndpoint: s.APIURL})
	require.NoError(t, err)
	versions, err := apiversions.List(t.Context(), root).Extract()
	require.NoError(t, err)
	require.Equal(t, "v1", versions.DefaultVersion.ID)
	v1, err := apiversions.Get(t.Context(), root, "v1").Extract()
	require.NoError(t, err)
	require.Equal(t, versions.DefaultVersion.Version, v1.Version)
	require.Equal(t, "1.1", v1.MinVersion)
	c.Microversion = v1.Version // the newest: what it answers has to be read by an older client, too
	return c
}

func TestGophercloud(t *testing.T) {
	c := start(t)
	for name, test := range map[string]func(*testing.T, *cloud){
		"nodes": testNodes, "states": testStates, "hardware": testHardware, "subscriptions": testSubscriptions, "not there yet": testRefused,
		"ports": testPorts, "allocations": testAllocations, "conductors": testConductors, "drivers": testDrivers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// create creates a node.
func (c *cloud) create(t *testing.T, o nodes.CreateOpts) *nodes.Node {
	t.Helper()
	n, err := nodes.Create(t.Context(), c.ServiceClient, o).Extract()
	require.NoError(t, err)
	return n
}

func (c *cloud) get(t *testing.T, id string) *nodes.Node {
	t.Helper()
	n, err := nodes.Get(t.Context(), c.ServiceClient, id).Extract()
	require.NoError(t, err)
	return n
}

// redfish creates a node of a simulated server and brings it to manageable.
func (c *cloud) redfish(t *testing.T, name string, sv stack.Server) *nodes.Node {
	t.Helper()
	n := c.create(t, nodes.CreateOpts{Name: name, Driver: "redfish", ResourceClass: name, InspectInterface: "redfish", DriverInfo: map[string]any{
		"redfish_address": sv.Address, "redfish_system_id": sv.System, "redfish_username": sv.Username,
		"redfish_password": sv.Password, "redfish_verify_ca": sv.VerifyCA, "deploy_iso": c.RackURL + "/images/deploy.iso",
	}})
	require.Equal(t, "******", n.DriverInfo["redfish_password"])
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetManage}, nodes.Manageable)
	return n
}

// change asks for a provision state, and waits until the node has it.
func (c *cloud) change(t *testing.T, id string, o nodes.ProvisionStateOpts, want nodes.ProvisionState) {
	t.Helper()
	require.NoError(t, nodes.ChangeProvisionState(t.Context(), c.ServiceClient, id, o).ExtractErr())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, nodes.WaitForProvisionState(ctx, c.ServiceClient, id, want), "the node is %+v", c.get(t, id))
}

// status requires an answer that is an error with this status.
func status(t *testing.T, want int, err error) {
	t.Helper()
	require.Error(t, err)
	require.True(t, gophercloud.ResponseCodeIs(err, want), "%d %s: %v", want, http.StatusText(want), err)
}
