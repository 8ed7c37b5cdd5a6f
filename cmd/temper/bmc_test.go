package main

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/sim"
)

// startRack starts a simulated rack of one server. It returns the rack and what it tells about the server.
func startRack(t *testing.T, c sim.Config) (*sim.Rack, sim.Server) {
	t.Helper()
	c.Servers, c.DataDir = 1, t.TempDir()
	rack, err := sim.New(c)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rack.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	<-rack.Ready()
	res, err := http.Get(rack.URL() + "/servers")
	require.NoError(t, err)
	defer res.Body.Close()
	var servers []sim.Server
	require.NoError(t, json.NewDecoder(res.Body).Decode(&servers))
	return rack, servers[0]
}

// passwordIn returns a file with the password.
func passwordIn(t *testing.T, password string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte(password+"\n"), 0o600))
	return file
}

// simulated starts a rack with one server of a persona, and returns the flags that reach its BMC and the file with its password.
func simulated(t *testing.T, persona string) (args []string, passwordFile string) {
	t.Helper()
	_, server := startRack(t, sim.Config{Personas: []string{persona}})
	return []string{"bmc", "probe", server.RedfishAddress, "--username", server.RedfishUsername}, passwordIn(t, server.RedfishPassword)
}

func TestBMCProbe(t *testing.T) {
	args, passwordFile := simulated(t, "idrac9")
	args = append(args, "--password-file", passwordFile)
	out, err := temper(t, args...)
	require.NoError(t, err)
	for _, want := range []string{"PowerEdge R660", "dell-serial", "insert virtual media", "median"} {
		require.Contains(t, out, want)
	}

	out, err = temper(t, args[:3]...)
	require.ErrorContains(t, err, "not every operation will work")
	require.Contains(t, out, "the BMC wants a login for that, and none was given")
	require.Regexp(t, "(?m)^Redfish +1", out, "the service root is open")

	file := filepath.Join(t.TempDir(), "bmc.json")
	out, err = temper(t, append(args, "--json", "--record", file)...)
	require.NoError(t, err)
	require.Contains(t, out, `"redfish_system_id": "/redfish/v1/Systems/System.Embedded.1"`)
	recorded, err := os.ReadFile(file)
	require.NoError(t, err)
	password, err := os.ReadFile(passwordFile)
	require.NoError(t, err)
	require.NotContains(t, string(recorded), string(password[:len(password)-1]))

	_, err = temper(t, append(args, "--record", file)...)
	require.ErrorContains(t, err, "is there already", "a recording is never overwritten")
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, recorded, kept)

	args, passwordFile = simulated(t, file)
	out, err = temper(t, append(args, "--password-file", passwordFile)...)
	require.NoError(t, err)
	require.Contains(t, out, "PowerEdge R660")
}

// Whatever command an explanation suggests for a node, it parses, and it asks the node's BMC.
func TestTheProbeThatIsSuggestedWorks(t *testing.T) {
	_, row := startRack(t, sim.Config{IPMI: true, TLS: true})
	t.Setenv("TEMPER_BMC_PASSWORD", row.RedfishPassword)
	redfish := map[string]any{"redfish_address": row.RedfishAddress, "redfish_username": row.RedfishUsername}
	ipmi := map[string]any{"ipmi_address": row.IPMIAddress, "ipmi_port": float64(row.IPMIPort), "ipmi_username": row.IPMIUsername}
	for name, c := range map[string]struct {
		driver     string
		info, more map[string]any
		says       string
	}{
		"redfish":                  {"redfish", redfish, map[string]any{"redfish_verify_ca": false}, "Redfish"},
		"redfish with all it has":  {"redfish", redfish, map[string]any{"redfish_verify_ca": row.RedfishVerifyCA, "redfish_system_id": row.RedfishSystemID, "redfish_auth_type": "basic"}, "basic"},
		"IPMI":                     {"ipmi", ipmi, nil, "cipher suite 17, as ADMINISTRATOR"},
		"IPMI with another port":   {"ipmi", ipmi, map[string]any{"ipmi_port": strconv.Itoa(row.IPMIPort)}, "cipher suite 17, as ADMINISTRATOR"},
		"IPMI with all it has":     {"ipmi", ipmi, map[string]any{"ipmi_cipher_suite": 3.0, "ipmi_priv_level": "OPERATOR", "ipmi_bridging": "no"}, "cipher suite 3, as OPERATOR"},
		"IPMI without a character": {"ipmi", ipmi, map[string]any{"ipmi_priv_level": "", "ipmi_cipher_suite": nil}, "cipher suite 17"},
	} {
		t.Run(name, func(t *testing.T) {
			info := maps.Clone(c.info)
			maps.Copy(info, c.more)
			n := &node.Node{Driver: c.driver, DriverInfo: info}
			words := strings.Fields(help.Command(n, help.Action{Do: fault.ProbeBMC}))
			require.Equal(t, []string{"temper", "bmc", "probe"}, words[:3])
			out, err := temper(t, words[1:]...)
			require.NoError(t, err, "%s", out)
			require.Contains(t, out, c.says)
			require.Contains(t, out, "choose the boot device")
			require.NotContains(t, out, row.RedfishPassword)
		})
	}
}

// Each hardware type whose BMC is reached by an address has a probe, and the advice for its silent BMC names it.
func TestTheAdviceForASilentBMCNamesAProbe(t *testing.T) {
	for _, driver := range node.HardwareTypes() {
		h, _ := node.Hardware(driver)
		if h.IsFake() {
			continue
		}
		n := &node.Node{Driver: driver, DriverInfo: map[string]any{"ipmi_hex_kg_key": "hunter2"}}
		require.Contains(t, help.Remedies(n, driver, fault.BMCSilent), help.Action{Do: fault.ProbeBMC}, driver)
		command := help.Command(n, help.Action{Do: fault.ProbeBMC})
		require.NotContains(t, command, "hunter2")
		c, rest, err := newBMCCommand().Find(strings.Fields(command)[2:])
		require.NoError(t, err)
		require.NoError(t, c.ParseFlags(rest), command)
		require.NoError(t, c.ValidateArgs(c.Flags().Args()), command)
	}
}

func TestBMCProbeOverIPMISaysWhyItCanNotAsk(t *testing.T) {
	_, row := startRack(t, sim.Config{IPMI: true})
	at := []string{"bmc", "probe", row.IPMIAddress, "--ipmi", "--port", strconv.Itoa(row.IPMIPort), "--username", row.IPMIUsername}
	t.Setenv("TEMPER_BMC_PASSWORD", "not-the-password")
	_, err := temper(t, at...)
	require.ErrorContains(t, err, "the BMC refuses this user with this password")
	require.NotContains(t, err.Error(), "not-the-password")
	t.Setenv("TEMPER_BMC_PASSWORD", row.IPMIPassword)
	out, err := temper(t, append(at, "--driver-info", "ipmi_priv_level=USER")...)
	require.ErrorContains(t, err, "not every operation will work")
	require.Regexp(t, `switch on and off +no +that needs the privilege level OPERATOR`, out)
	out, err = temper(t, append(at, "--json")...)
	require.NoError(t, err)
	require.Contains(t, out, `"cipher_suite": 17`)
	require.Contains(t, out, `"median_ms"`)
	_, err = temper(t, "bmc", "probe", "127.0.0.1", "--ipmi", "--port", "1")
	require.ErrorContains(t, err, "nothing answers")
	for _, wrong := range [][]string{{"--port", "623"}, {"--driver-info", "ipmi_port=1"}, {"--ipmi", "--system", "/x"}, {"--ipmi", "--record", "x"}} {
		_, err = temper(t, append([]string{"bmc", "probe", "127.0.0.1"}, wrong...)...)
		require.Equal(t, exit.CodeUsage, exit.Code(err), "%v: %v", wrong, err)
	}
}

func TestBMCProbeSaysWhyItCanNotAsk(t *testing.T) {
	args, _ := simulated(t, "generic")
	_, err := temper(t, args...)
	require.ErrorContains(t, err, "standard input is no terminal that can be asked for it: add --password-file FILE (- is standard input), or set TEMPER_BMC_PASSWORD")
	t.Setenv("TEMPER_BMC_PASSWORD", "not-the-password")
	_, err = temper(t, args...)
	require.ErrorContains(t, err, "the BMC refuses this user with this password: 401 Unauthorized")
	require.NotContains(t, err.Error(), "not-the-password")
	_, err = temper(t, "bmc", "probe", "http://127.0.0.1:1")
	require.ErrorContains(t, err, "refused")
	_, err = temper(t, "bmc", "probe", "http://127.0.0.1:1", "--verify-ca", "/nowhere/ca.pem")
	require.ErrorContains(t, err, "--verify-ca is true, false or a file")
	_, err = temper(t, "rack", "--api-url", "http://127.0.0.1:1", "--persona", "/nowhere/bmc.json")
	require.ErrorContains(t, err, "the recording /nowhere/bmc.json")
}
