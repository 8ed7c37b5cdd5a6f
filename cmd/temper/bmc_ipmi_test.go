package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/machine"
)

func TestCommandsOverIPMI(t *testing.T) {
	rack, err := sim.New(sim.Config{Servers: 1, IPMI: true, PowerDelay: time.Millisecond, DataDir: t.TempDir()})
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
	row, m := servers[0], rack.Server(servers[0].Name)
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte(row.IPMIPassword+"\n"), 0o600))
	run := func(command string, more ...string) (string, error) {
		return temper(t, append([]string{
			"bmc", command, row.IPMIAddress, "--port", strconv.Itoa(row.IPMIPort), "--username", row.IPMIUsername, "--password-file", password,
		}, more...)...)
	}

	for _, c := range []struct{ flag, led string }{{"--on", "Lit"}, {"--off", "Off"}, {"--seconds=200", "Blinking"}} {
		_, err = run("identify", c.flag)
		require.NoError(t, err)
		require.Equal(t, c.led, m.Settings().LED)
	}
	_, err = run("identify", "--seconds=256")
	require.ErrorContains(t, err, "1 to 255")
	_, err = run("nmi")
	require.ErrorContains(t, err, "0xd5", "the server is off")
	require.NoError(t, m.Reset(machine.ResetOn))
	require.Eventually(t, func() bool { return m.PowerState() == machine.On }, 20*time.Second, time.Millisecond)
	_, err = run("nmi", "--driver-info", "ipmi_cipher_suite=3")
	require.NoError(t, err)
	actions := m.PowerActions()
	require.Equal(t, machine.ResetNMI, actions[len(actions)-1].ResetType)
	_, err = run("restart")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !m.BMCStarted().IsZero() }, 20*time.Second, time.Millisecond)

	_, err = run("nmi", "--driver-info", "ipmi_cipher_suite=0")
	require.ErrorContains(t, err, "ipmi_cipher_suite")
	_, err = run("nmi", "--driver-info", "hunter2")
	require.ErrorContains(t, err, "NAME=VALUE")
	require.NotContains(t, err.Error(), "hunter2")
}
