package system_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A node of the driver idrac, with the names of interfaces that Metal3 gives it, is deployed as one of redfish.
func TestANodeOfIDRACIsDeployed(t *testing.T) {
	t.Parallel()
	s := world(t)
	s.conductorWith(t, "idrac", "idrac", "idrac-1")
	n := &node{t: t, s: s, r: s.rack, server: s.rack.take(t)}
	sv := n.hardware()
	var made shown
	require.NoError(t, s.must(t, http.StatusCreated, http.MethodPost, "/v1/nodes", map[string]any{
		"name": n.server, "driver": "idrac", "conductor_group": "idrac", "automated_clean": false,
		"boot_interface": "idrac-redfish-virtual-media", "inspect_interface": "idrac-redfish", "management_interface": "idrac-redfish",
		"power_interface": "idrac-redfish", "raid_interface": "no-raid", "vendor_interface": "no-vendor",
		"driver_info": map[string]any{
			"redfish_address": sv.Address, "redfish_system_id": sv.System, "redfish_username": sv.Username,
			"redfish_password": sv.Password, "redfish_verify_ca": sv.VerifyCA, "deploy_iso": n.r.url + "/images/deploy.iso",
		},
	}).Decode(&made))
	n.uuid = made.UUID
	for _, mac := range sv.MACs {
		s.must(t, http.StatusCreated, http.MethodPost, "/v1/ports", map[string]any{"node_uuid": n.uuid, "address": mac})
	}
	n.done(n.provision("manage", nil), "manageable")
	n.done(n.provision("inspect", nil), "manageable")
	n.done(n.provision("provide", nil), "available")
	n.image(n.r.url+"/images/disk.raw", digest(t, n.r))
	n.deployed(n.provision("active", nil), digest(t, n.r))
}

// UEFI loads the CD that Temper makes by HTTP, from the URL that the BMC got: no virtual drive, and no DHCP that knows of Temper.
func TestANodeBootsItsImageByHTTP(t *testing.T) {
	t.Parallel()
	n := available(t, world(t), world(t).rack).withoutISO()
	n.patch("boot_interface", "redfish-https")
	n.deployed(n.provision("active", nil), digest(t, n.r))
	for _, a := range n.hardware().Actions {
		require.NotContains(t, a.String(), "insert")
	}
}
