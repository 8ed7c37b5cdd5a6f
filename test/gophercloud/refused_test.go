package gophercloud_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/drivers"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/stretchr/testify/require"
)

// testRefused is what Temper does not do yet: the answers are those that Ironic has for a driver without it. When one of these fails
// because Temper does it now, the test of what it does takes its place.
func testRefused(t *testing.T, c *cloud) {
	ctx := t.Context()
	n := c.create(t, nodes.CreateOpts{Name: "refused", Driver: "fake-hardware"})
	settings, err := nodes.ListBIOSSettings(ctx, c.ServiceClient, n.UUID, nodes.ListBIOSSettingsOpts{Detail: true}).Extract()
	require.NoError(t, err)
	require.Empty(t, settings, "nothing reads them")
	_, err = nodes.GetBIOSSetting(ctx, c.ServiceClient, n.UUID, "ProcVirtualization").Extract()
	status(t, http.StatusNotFound, err)
	components, err := nodes.ListFirmware(ctx, c.ServiceClient, n.UUID).Extract()
	require.NoError(t, err)
	require.Empty(t, components, "nothing reads them")

	size := 100
	raid := nodes.RAIDConfigOpts{LogicalDisks: []nodes.LogicalDisk{{SizeGB: &size, RAIDLevel: nodes.RAID1}}}
	status(t, http.StatusNotFound, nodes.SetRAIDConfig(ctx, c.ServiceClient, n.UUID, raid).ExtractErr())
	iso := nodes.AttachVirtualMediaOpts{DeviceType: nodes.VirtualMediaCD, ImageURL: c.RackURL + "/images/deploy.iso"}
	status(t, http.StatusBadRequest, nodes.AttachVirtualMedia(ctx, c.ServiceClient, n.UUID, iso).ExtractErr())
	status(t, http.StatusBadRequest, nodes.GetVirtualMedia(ctx, c.ServiceClient, n.UUID).Err)
	status(t, http.StatusBadRequest, nodes.DetachVirtualMedia(ctx, c.ServiceClient, n.UUID, nodes.DetachVirtualMediaOpts{}).ExtractErr())
	_, err = drivers.CallVendorPassthru(ctx, c.ServiceClient, "redfish", http.MethodGet, drivers.VendorPassthruCallOpts{Method: "anything"}).Extract()
	status(t, http.StatusBadRequest, err)
}
