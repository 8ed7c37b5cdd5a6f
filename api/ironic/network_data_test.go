package ironic_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestNetworkDataIsEmptyOrWhole(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	const whole = `{"links": [{"id": "eth0", "type": "phy", "ethernet_mac_address": "52:54:00:aa:bb:01"},
		{"id": "b", "type": "bond", "ethernet_mac_address": "52:54:00:aa:bb:01", "bond_mode": "802.1ad", "bond_links": ["eth0"]},
		{"id": "v", "type": "vlan", "vlan_mac_address": "52:54:00:aa:bb:01", "vlan_id": 7, "vlan_link": "eth0"}],
		"networks": [{"id": "n", "type": "ipv4", "link": "eth0", "network_id": "x", "ip_address": "192.0.2.7"}],
		"services": [{"type": "dns", "address": "192.0.2.1"}]}`
	for body, status := range map[string]int{
		`{}`: 200, whole: 200, `{"links": [], "networks": [], "services": []}`: 200,
		`{"links": [], "networks": []}`: 400,
		`{"a": 1}`:                      400,
		`{"links": {}, "networks": [], "services": []}`:                                                                                       400,
		`{"links": [1], "networks": [], "services": []}`:                                                                                      400,
		`{"links": [{"id": "e", "type": "phy"}], "networks": [], "services": []}`:                                                             400,
		`{"links": [], "networks": [{"id": "n", "type": "x"}], "services": []}`:                                                               400,
		`{"links": [], "networks": [], "services": [{"type": "ntp", "address": ""}]}`:                                                         400,
		`{"links": [{"id": "v", "type": "vlan", "vlan_mac_address": "52:54:00:aa:bb:01", "vlan_link": "e"}], "networks": [], "services": []}`: 400,
		`{"links": [{"id": "e", "type": "phy", "ethernet_mac_address": "x"}], "networks": [], "services": []}`:                                400,
	} {
		var data any
		require.NoError(t, json.Unmarshal([]byte(body), &data))
		a := b.Patch("/v1/nodes/n1", apitest.Add("/network_data", data))
		if a.Is(status); status == 400 {
			require.Contains(t, a.Fails(400), "Invalid network_data: ", body)
		}
	}
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "network_data": map[string]any{"links": []any{}}}).Fails(400)
}
