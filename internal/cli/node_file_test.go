package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
)

func nodeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestAFileOfNodesIsReadInItsFormats(t *testing.T) {
	want := []fileNode{
		{"n1", map[string]any{
			"name": "n1", "driver": "redfish", "driver_info": map[string]any{"redfish_address": "https://10.0.0.1", "redfish_password": "007"}, "properties": map[string]any{"cpus": 8},
		}, []map[string]any{{"address": "52:54:00:00:00:01"}, {"address": "52:54:00:00:00:02"}}, nil},
		{"n2", map[string]any{"name": "n2", "driver": "fake-hardware"}, nil, nil},
	}
	for name, content := range map[string]string{
		"list.yaml": `
- {name: n1, driver: redfish, driver_info: {redfish_address: "https://10.0.0.1", redfish_password: "007"}, properties: {cpus: 8},
   ports: [{address: "52:54:00:00:00:01"}, {address: "52:54:00:00:00:02"}]}
- {name: n2, driver: fake-hardware}
`,
		"create.json": `{"nodes": [{"name": "n1", "driver": "redfish", "driver_info": {"redfish_address": "https://10.0.0.1", "redfish_password": "007"},
			"properties": {"cpus": 8}, "ports": [{"address": "52:54:00:00:00:01"}, {"address": "52:54:00:00:00:02"}]}, {"name": "n2", "driver": "fake-hardware"}]}`,
		"table.csv": `
# the first rack
name, driver, driver_info.redfish_address, driver_info.redfish_password, properties.cpus, ports
n1, redfish, https://10.0.0.1, 007, 8, 52:54:00:00:00:01 52:54:00:00:00:02
n2, fake-hardware, , , ,
`,
	} {
		t.Run(name, func(t *testing.T) {
			have, err := readNodeFile(nodeFile(t, name, content))
			require.NoError(t, err)
			require.Len(t, have, len(want))
			for i := range want {
				require.Equal(t, want[i].label, have[i].label)
				require.True(t, equalJSON(want[i].fields, have[i].fields), "%v", have[i].fields)
				require.True(t, equalJSON(want[i].ports, have[i].ports), "%v", have[i].ports)
			}
		})
	}
}

func TestAFileThatIsWrongIsRefusedAsAWhole(t *testing.T) {
	for content, want := range map[string]string{
		"":                          "want a list of nodes",
		"[]":                        "has no nodes",
		"chassis: []":               "it has chassis: only nodes with their ports",
		"[n1]":                      "node 1 is no object",
		"- {driver: redfish}":       "node 1: it has no name",
		"- {name: n1}":              "n1 has no driver",
		"- {name: n1, driver: [a]}": "n1 has no driver",
		"- &a {name: n1, driver: d}\n- {name: n1, driver: e}": "n1 is there twice",
		"- {name: n1, driver: d, ports: 5}":                   "ports of n1 is no list",
		"- {name: n1, driver: d, ports: [{}]}":                "port 1 of n1 has no address",
		"- {name: n1, driver: d, portgroups: []}":             "n1 has portgroups",
	} {
		_, err := readNodeFile(nodeFile(t, "nodes.yaml", content))
		require.ErrorContains(t, err, want, content)
	}
	_, err := readNodeFile(nodeFile(t, "nodes.csv", "name,driver\nn1\n"))
	require.ErrorContains(t, err, "wrong number of fields")
	_, err = readNodeFile(nodeFile(t, "nodes.csv", ""))
	require.ErrorContains(t, err, "want a line with the names of the fields")
}

// The same file again changes nothing, a line that was mended is taken, and what differs is refused.
func TestNodesOfAFileAreCreatedOnce(t *testing.T) {
	url := serverURL(t, api.Auth{})
	const first = `
nodes:
- {name: f1, driver: redfish, driver_info: {redfish_address: "https://10.0.0.1", redfish_username: a, redfish_password: hunter2}, properties: {cpus: 8}, ports: [{address: "52:54:00:00:0A:01"}]}
- {name: f2, driver: fake-hardware, ports: [{address: "52:54:00:00:0a:02"}]}
`
	create := func(name, content string) output {
		return ask(t, url, "", "node", "create", "-f", nodeFile(t, name, content))
	}
	got := create("nodes.yaml", first+"- {name: f3, driver: abacus}\n")
	require.ErrorContains(t, got.failed, "1 of 3 failed:\n  f3: No valid host was found")
	require.Equal(t, "f1: created, with a new port\nf2: created, with a new port\n", got.out)
	got = create("nodes.yaml", first+"- {name: f3, driver: fake-hardware}\n")
	require.NoError(t, got.failed)
	require.Equal(t, "f1: is there already\nf2: is there already\nf3: created\n", got.out)
	require.NotContains(t, got.out+got.err, "hunter2")
	got = create("nodes.csv", "name,driver,driver_info.redfish_address,properties.cpus,ports\nf1,redfish,https://10.0.0.2,8,52:54:00:00:0a:01 52:54:00:00:0a:09\nf2,fake-hardware,,,52:54:00:00:0a:02 52:54:00:00:0a:03\n")
	require.ErrorContains(t, got.failed, "f1: it is there already, and differs from the file in driver_info.redfish_address: temper node set changes it")
	require.Equal(t, "f2: is there already, with a new port\n", got.out)
	require.ErrorContains(t, ask(t, url, "", "node", "create", "n1", "-f", "nodes.yaml").failed, "--file has all that its nodes need")
}
