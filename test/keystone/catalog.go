package keystone

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/stretchr/testify/require"
)

// Register puts the API of bare metal at url into the catalog, so that OpenStack's clients find it.
func (c *Cloud) Register(t testing.TB, url string) {
	t.Helper()
	s, err := services.Create(t.Context(), c.admin, services.CreateOpts{Type: "baremetal", Extra: map[string]any{"name": "temper"}}).Extract()
	require.NoError(t, err)
	for _, at := range []gophercloud.Availability{gophercloud.AvailabilityPublic, gophercloud.AvailabilityInternal, gophercloud.AvailabilityAdmin} {
		_, err = endpoints.Create(t.Context(), c.admin, endpoints.CreateOpts{Name: "temper", ServiceID: s.ID, Availability: at, URL: url}).Extract()
		require.NoError(t, err)
	}
}
