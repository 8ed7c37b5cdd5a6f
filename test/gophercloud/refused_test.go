package gophercloud_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/drivers"
)

// testRefused is what Temper does not do yet: the answers are those that Ironic has for a driver without it. When one of these fails
// because Temper does it now, the test of what it does takes its place.
func testRefused(t *testing.T, c *cloud) {
	ctx := t.Context()
	_, err := drivers.CallVendorPassthru(ctx, c.ServiceClient, "redfish", http.MethodGet, drivers.VendorPassthruCallOpts{Method: "anything"}).Extract()
	status(t, http.StatusBadRequest, err)
}
