package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
)

// discovers posts what the agent finds on a server with a serial number.
func discovers(t *testing.T, url, serial, mac, bmc string) int {
	t.Helper()
	body := fmt.Sprintf(`{"inventory":{"interfaces":[{"mac_address":"%s"},{"mac_address":"52:54:00:FF:%s"}],"cpu":{"architecture":"x86_64","count":8},
		"memory":{"physical_mb":16384},"disks":[{"name":"/dev/sda","size":1099511627776},{"name":"/dev/sdb","size":107374182400},{"name":"/dev/sdc","size":1048576}],
		"boot":{"current_boot_mode":"uefi","pxe_interface":"01-%s"},"bmc_address":"%s","system_vendor":{"manufacturer":"Dell Inc.","product_name":"R640","serial_number":"%s"}}}`,
		mac, mac[12:], strings.ReplaceAll(mac, ":", "-"), bmc, serial)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/continue_inspection", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.84")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}

func TestDiscoveredServersBecomeNodes(t *testing.T) {
	url := serverURL(t, api.Auth{})
	for serial, mac := range map[string]string{"7XK1": "52:54:00:0a:00:01", "7XK2": "52:54:00:0a:00:02", "other": "52:54:00:0a:00:03"} {
		require.Equal(t, http.StatusAccepted, discovers(t, url, serial, mac, "10.0.0.1"+mac[16:]))
	}
	require.Equal(t, http.StatusAccepted, discovers(t, url, "7XK1", "52:54:00:0a:00:01", "10.0.0.11"), "it booted once more")
	list := func() string {
		got := ask(t, url, "", "discovery", "list")
		require.NoError(t, got.failed)
		return got.out
	}
	require.Equal(t, 4, strings.Count(list(), "\n"), list())
	require.Contains(t, list(), "Dell Inc. R640 7XK1")

	rules := func(content string, args ...string) output {
		return ask(t, url, "", append([]string{"discovery", "accept", "--rules", nodeFile(t, "rules.yaml", content)}, args...)...)
	}
	const right = `
rules:
- match: {serial: "7xk2"}
  node: {name: the-second, driver: redfish, driver_info: {redfish_address: "https://{bmc_address}", redfish_username: a, redfish_password: hunter2}}
- match: {manufacturer: "Dell*", serial: "7XK*"}
  node:
    name: "rack7-{serial}"
    driver: redfish
    resource_class: baremetal
    traits: [CUSTOM_RACK7]
    properties: {cpus: 4}
    driver_info: {redfish_address: "https://{bmc_address}", redfish_username: a, redfish_password: hunter2}
`
	got := rules(right)
	require.NoError(t, got.failed)
	require.Contains(t, got.out, ": node the-second created, with 2 new ports\n")
	require.Contains(t, got.out, ": node rack7-7XK1 created, with 2 new ports\n")
	require.NotContains(t, got.out+got.err, "hunter2")
	require.Equal(t, 2, strings.Count(list(), "\n"), "one is left: %s", list())
	require.NoError(t, rules(right).failed, "nothing is left for the rules")
	shown := ask(t, url, "", "node", "show", "rack7-7XK1", "-o", "json").out
	for _, want := range []string{`"redfish_address": "https://10.0.0.11"`, `"cpu_arch": "x86_64"`, `"cpus": 4`, `"memory_mb": 16384`, `"local_gb": 100`, "CUSTOM_RACK7", `"enroll"`} {
		require.Contains(t, shown, want)
	}
	ports := ask(t, url, "", "port", "list", "--node", "rack7-7XK1", "-o", "json").out
	require.Equal(t, 1, strings.Count(ports, `"pxe_enabled": true`), ports)
	require.Equal(t, http.StatusNotFound, discovers(t, url, "7XK1", "52:54:00:0a:00:01", "10.0.0.11"), "it is known now")

	for content, words := range map[string]string{
		"rules: []": "has no rules", "rules: [{match: {}, node: {name: n, driver: redfish}}]": "it has no match",
		"rules: [{match: {colour: red}, node: {name: n, driver: redfish}}]": `no "colour" to match`, "rules: [{match: {serial: '*'}, node: {name: n}}]": "no driver",
		"rules: [{match: {serial: '['}, node: {name: n, driver: redfish}}]": "is no pattern", "nodes: []": "field nodes not found",
	} {
		require.ErrorContains(t, rules(content).failed, words)
	}

	uuid, _, _ := strings.Cut(strings.Split(list(), "\n")[1], " ")
	got = ask(t, url, "", "discovery", "accept", uuid, "n1", "--driver", "redfish", "--driver-info", "redfish_address=https://{bmc_address}/{serial}")
	require.NoError(t, got.failed, got.err)
	require.Contains(t, got.out, "node n1 created")
	require.Contains(t, ask(t, url, "", "discovery", "show", uuid).failed.Error(), "There is no discovery")
}

// Whoever sends an inventory gets no port of somebody else's node, and leads no password to a host of his.
func TestAStrangersInventoryIsNotBelieved(t *testing.T) {
	url := serverURL(t, api.Auth{})
	const rules = `
rules:
- match: {bmc_address: "10.0.*", product: "*R640*"}
  node: {name: "rack7-{serial}", driver: redfish, driver_info: {redfish_address: "https://{serial}.bmc.example", redfish_username: a, redfish_password: hunter2}}
`
	accept := func() output {
		return ask(t, url, "", "discovery", "accept", "--rules", nodeFile(t, "rules.yaml", rules))
	}
	require.Equal(t, http.StatusAccepted, discovers(t, url, "S1", "52:54:00:0a:00:01", "10.0.0.1"))
	require.NoError(t, accept().failed)
	require.Equal(t, http.StatusAccepted, discovers(t, url, "S1", "52:54:00:0a:00:66", "10.0.0.1"))
	require.ErrorContains(t, accept().failed, "there is a node rack7-S1 already, and it is not of this server")
	require.NotContains(t, ask(t, url, "", "port", "list").out, "52:54:00:0a:00:66")
	require.Equal(t, http.StatusAccepted, discovers(t, url, "evil.example/x", "52:54:00:0a:00:67", "10.0.0.1"))
	require.ErrorContains(t, accept().failed, `the agent says that the serial is "evil.example/x"`)
}

func TestADiscoveryThatIsDeletedIsFoundAnew(t *testing.T) {
	url := serverURL(t, api.Auth{})
	require.Equal(t, http.StatusAccepted, discovers(t, url, "", "52:54:00:0a:00:01", "0.0.0.0"))
	out := ask(t, url, "", "discovery", "list", "-o", "json").out
	_, rest, _ := strings.Cut(out, `"uuid": "`)
	uuid, _, _ := strings.Cut(rest, `"`)
	require.Contains(t, ask(t, url, "", "discovery", "show", uuid).out, "pxe_interface")
	got := ask(t, url, "", "discovery", "accept", uuid, "n1", "--driver", "redfish", "--driver-info", "redfish_address=https://{bmc_address}")
	require.ErrorContains(t, got.failed, "the agent found no bmc address")
	require.NoError(t, ask(t, url, "", "discovery", "delete", uuid).failed)
	require.ErrorContains(t, ask(t, url, "", "discovery", "delete", uuid).failed, "There is no discovery")
	require.Equal(t, http.StatusAccepted, discovers(t, url, "", "52:54:00:0a:00:01", "0.0.0.0"))
	for _, args := range []string{"accept", "accept " + uuid, "accept --watch", "accept --rules r.yaml " + uuid} {
		require.Error(t, ask(t, url, "", append([]string{"discovery"}, strings.Fields(args)...)...).failed, args)
	}
}
