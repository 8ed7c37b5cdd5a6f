package networkdata_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/networkdata"
)

// whole is the example of Nova's specification (metadata-service-network-info), shortened, with a route and both versions of IP.
const whole = `{"links": [
	{"id": "nic0", "type": "phy", "ethernet_mac_address": "A0-36-9F-2C-E8-70", "mtu": 1500},
	{"id": "nic1", "type": "vif", "ethernet_mac_address": "a0:36:9f:2c:e8:71", "mtu": null},
	{"id": "bond0", "type": "bond", "bond_links": ["nic0", "nic1"], "ethernet_mac_address": "a0:36:9f:2c:e8:70",
	 "bond_mode": "802.1ad", "bond_xmit_hash_policy": "layer3+4", "bond_miimon": 50},
	{"id": "vlan2", "type": "vlan", "vlan_link": "bond0", "vlan_id": "101", "vlan_mac_address": "a0:36:9f:2c:e8:72"}],
"networks": [
	{"id": "n4", "type": "ipv4", "link": "bond0", "network_id": "x", "ip_address": "192.0.2.7", "netmask": "255.255.255.0",
	 "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"}, {"network": "198.51.100.9", "netmask": 24, "gateway": "192.0.2.2"}],
	 "services": [{"type": "dns", "address": "192.0.2.53"}]},
	{"id": "n6", "type": "ipv6", "link": "vlan2", "network_id": "y", "ip_address": "2001:db8::7/64", "gateway": "fe80::1"},
	{"id": "m6", "type": "ipv6", "link": "vlan2", "network_id": "y", "ip_address": "2001:db8:1::7", "netmask": "ffff:ffff:ffff:ffff::"},
	{"id": "d", "type": "ipv4_dhcp", "link": "vlan2", "network_id": "y"}, {"id": "s", "type": "ipv6_slaac", "link": "vlan2", "network_id": "y"}],
"services": [{"type": "dns", "address": "2001:db8::53"}]}`

func TestAWholeDocumentIsRead(t *testing.T) {
	t.Parallel()
	n, err := networkdata.ParseJSON([]byte(whole))
	require.NoError(t, err)
	require.Equal(t, []networkdata.Link{
		{ID: "nic0", Kind: networkdata.Card, MAC: "a0:36:9f:2c:e8:70", MTU: 1500},
		{ID: "nic1", Kind: networkdata.Card, MAC: "a0:36:9f:2c:e8:71"},
		{ID: "bond0", Kind: networkdata.Bond, MAC: "a0:36:9f:2c:e8:70", Members: []string{"nic0", "nic1"}, Mode: "802.3ad", HashBy: "layer3+4", Monitor: 50},
		{ID: "vlan2", Kind: networkdata.VLAN, MAC: "a0:36:9f:2c:e8:72", VLAN: 101, Parent: "bond0"},
	}, n.Links)
	require.Equal(t, []networkdata.Subnet{
		{Link: "bond0", Method: networkdata.Static, Address: netip.MustParsePrefix("192.0.2.7/24"), DNS: []netip.Addr{netip.MustParseAddr("192.0.2.53")}, Routes: []networkdata.Route{
			{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.0.2.1")},
			{To: netip.MustParsePrefix("198.51.100.0/24"), Via: netip.MustParseAddr("192.0.2.2")},
		}},
		{Link: "vlan2", Method: networkdata.Static, Address: netip.MustParsePrefix("2001:db8::7/64"), Routes: []networkdata.Route{
			{To: netip.MustParsePrefix("::/0"), Via: netip.MustParseAddr("fe80::1")},
		}},
		{Link: "vlan2", Method: networkdata.Static, Address: netip.MustParsePrefix("2001:db8:1::7/64")},
		{Link: "vlan2", Method: networkdata.DHCP},
		{Link: "vlan2", Method: networkdata.Router},
	}, n.Subnets)
	require.Equal(t, []netip.Addr{netip.MustParseAddr("2001:db8::53")}, n.DNS)
}

func TestWhatCannotBeFollowedIsNamed(t *testing.T) {
	t.Parallel()
	const card = `{"id": "e", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}`
	document := func(links, networks, services string) string {
		return `{"links": [` + links + `], "networks": [` + networks + `], "services": [` + services + `]}`
	}
	network := func(fields string) string {
		return document(card, `{"id": "n", "network_id": "x", "link": "e", `+fields+`}`, "")
	}
	for given, says := range map[string]string{
		`[]`:            "json: ",
		`{"links": []}`: "'networks' is a required property",
		document(`{"id": "e", "type": "x"}`, "", ""):                                                                                        `links[0]: type: "x" is not one of`,
		document(`{"id": "e", "type": "phy", "ethernet_mac_address": "x"}`, "", ""):                                                         "links[0]: ethernet_mac_address: ",
		document(card+","+card, "", ""):                                                                                                     `links[1]: the id "e" is that of two links`,
		document(`{"id": "v", "type": "vlan", "vlan_id": 4095, "vlan_link": "e"}`, "", ""):                                                  "links[0]: vlan_id must be an integer from 1 to 4094",
		document(`{"id": "v", "type": "vlan", "vlan_id": 5, "vlan_link": "v", "vlan_mac_address": "52:54:00:00:00:01"}`, "", ""):            `links[0]: vlan_link: "v" is not the id of`,
		document(`{"id": "b", "type": "bond", "bond_mode": "fast", "bond_links": []}`, "", ""):                                              `links[0]: bond_mode: "fast" is not one of`,
		document(`{"id": "b", "type": "bond", "bond_mode": "4", "bond_links": ["e"], "ethernet_mac_address": "52:54:00:00:00:01"}`, "", ""): `links[0]: bond_links: "e" is not the id of a card`,
		document("", `{"id": "n", "network_id": "x", "link": "e", "type": "ipv4_dhcp"}`, ""):                                                `networks[0]: link: "e" is not the id of a link`,
		network(`"type": "ipv4"`):                                                                                     "networks[0]: 'ip_address' is a required property",
		network(`"type": "ipv4", "ip_address": "192.0.2.300"`):                                                        `networks[0]: ip_address: "192.0.2.300" is no IP address`,
		network(`"type": "ipv4", "ip_address": "2001:db8::1"`):                                                        "networks[0]: ip_address: \"2001:db8::1\" is an address of another version of IP",
		network(`"type": "ipv4", "ip_address": "192.0.2.1", "netmask": "255.0.255.0"`):                                `networks[0]: netmask: "255.0.255.0" is no netmask`,
		network(`"type": "ipv4", "ip_address": "192.0.2.1", "netmask": 33`):                                           "networks[0]: netmask must be an integer from 0 to 32",
		network(`"type": "ipv4", "ip_address": "192.0.2.1", "routes": [{"network": "0.0.0.0/0"}]`):                    "networks[0]: routes[0]: 'gateway' is a required property",
		network(`"type": "ipv4", "ip_address": "192.0.2.1", "routes": [{"network": "::/0", "gateway": "192.0.2.9"}]`): "networks[0]: routes[0]: network: ",
		document("", "", `{"type": "ntp", "address": "192.0.2.1"}`):                                                   `services[0]: type: "ntp" is not one of [dns]`,
	} {
		_, err := networkdata.ParseJSON([]byte(given))
		require.ErrorContains(t, err, says, given)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := networkdata.ParseJSON(b)
		if err != nil {
			return
		}
		for _, s := range n.Subnets {
			if s.Method == networkdata.Static && !s.Address.IsValid() {
				t.Fatal(s)
			}
			for _, r := range s.Routes {
				if !r.To.IsValid() || !r.Via.IsValid() {
					t.Fatal(r)
				}
			}
		}
	})
}
