package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/explain"
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

// What an explanation suggests is a command of this program, with its flags.
func TestTheProbeThatIsSuggestedIsACommand(t *testing.T) {
	n := &node.Node{Driver: "redfish", DriverInfo: map[string]any{"redfish_address": "https://10.0.0.7", "redfish_username": "admin"}}
	words := strings.Fields(help.Command(n, explain.Action{Do: explain.ProbeBMC}))
	require.Equal(t, []string{"temper", "bmc", "probe", "https://10.0.0.7", "--username", "admin"}, words)
	c, rest, err := newBMCCommand().Find(words[2:])
	require.NoError(t, err)
	require.NoError(t, c.ParseFlags(rest))
	require.NoError(t, c.ValidateArgs(c.Flags().Args()))
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
