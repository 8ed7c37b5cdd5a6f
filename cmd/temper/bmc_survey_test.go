package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/sim"
)

// A dry run asks every BMC of a file, says of each what it is or what is wrong, creates nothing, and tells no password.
func TestADryRunOfAFileAsksEveryBMC(t *testing.T) {
	_, dell := startRack(t, sim.Config{Personas: []string{"idrac10"}})
	_, plain := startRack(t, sim.Config{})
	_, both := startRack(t, sim.Config{IPMI: true})
	closed := httptest.NewServer(nil)
	closed.Close()
	other := httptest.NewServer(nil)
	t.Cleanup(other.Close)
	redfish := func(name, address, user, password string) map[string]any {
		return map[string]any{"name": name, "driver": "redfish", "driver_info": map[string]any{"redfish_address": address, "redfish_username": user, "redfish_password": password}}
	}
	nodes := []any{
		redfish("dell", dell.RedfishAddress, dell.RedfishUsername, dell.RedfishPassword),
		redfish("plain", plain.RedfishAddress, plain.RedfishUsername, plain.RedfishPassword),
		redfish("wrong", plain.RedfishAddress, plain.RedfishUsername, "not-the-password"),
		redfish("closed", closed.URL, "admin", "not-told"),
		redfish("other", other.URL, "admin", "not-told"),
		map[string]any{"name": "ipmi", "driver": "ipmi", "driver_info": map[string]any{
			"ipmi_address": both.IPMIAddress, "ipmi_port": both.IPMIPort, "ipmi_username": both.IPMIUsername, "ipmi_password": both.IPMIPassword,
		}},
		map[string]any{"name": "strange", "driver": "abacus"},
	}
	file := filepath.Join(t.TempDir(), "nodes.json")
	b, err := json.Marshal(nodes)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, b, 0o600))

	out, err := temper(t, "node", "create", "-f", file, "--dry-run", "-f", file, "--output", "json")
	require.ErrorContains(t, err, "4 of 7 BMCs have a problem")
	for _, secret := range []string{dell.RedfishPassword, "not-the-password", "not-told", both.IPMIPassword} {
		require.NotContains(t, out, secret)
	}
	var rows []struct {
		Node string `json:"node"`
		cli.BMC
	}
	require.NoError(t, jsonvalue.Unmarshal([]byte(out), &rows))
	found := map[string]cli.BMC{}
	for _, r := range rows {
		found[r.Node] = r.BMC
	}
	require.Equal(t, "iDRAC Enterprise or Datacenter", found["dell"].License)
	require.Contains(t, found["dell"].Model, "PowerEdge")
	for _, good := range []string{"dell", "plain"} {
		b := found[good]
		require.True(t, b.Reachable && b.Credentials && b.Media, "%s: %+v", good, b)
		require.NotEmpty(t, b.Firmware)
	}
	require.Equal(t, cli.BMC{Reachable: true, Problem: "the BMC refuses this user with this password"}, found["wrong"])
	require.False(t, found["closed"].Reachable)
	require.Contains(t, found["closed"].Problem, "refused")
	require.NotEmpty(t, found["other"].Problem)
	require.True(t, found["ipmi"].Credentials, "%+v", found["ipmi"])
	require.Contains(t, found["strange"].Problem, `no driver "abacus"`)

	out, err = temper(t, "node", "create", "-f", file, "--dry-run")
	require.Error(t, err)
	require.Regexp(t, `NODE +BMC +REACHABLE +CREDENTIALS +MODEL`, out)
	_, err = temper(t, "node", "create", "n1", "--dry-run")
	require.ErrorContains(t, err, "temper bmc probe")
}
