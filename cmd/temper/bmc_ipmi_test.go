package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/machine"
)

func TestCommandsOverIPMI(t *testing.T) {
	rack, row := startRack(t, sim.Config{IPMI: true, PowerDelay: time.Millisecond})
	m := rack.Server(row.Name)
	password := passwordIn(t, row.IPMIPassword)
	run := func(command string, more ...string) (string, error) {
		return temper(t, append([]string{
			"bmc", command, row.IPMIAddress, "--port", strconv.Itoa(row.IPMIPort), "--username", row.IPMIUsername, "--password-file", password,
		}, more...)...)
	}

	var err error
	var out string
	for _, c := range []struct{ flag, led, says string }{
		{"--on", "Lit", "is on until it is switched off"}, {"--off", "Off", "is off"}, {"--seconds=200", "Blinking", "blinks for 3m20s"},
	} {
		out, err = run("identify", c.flag)
		require.NoError(t, err)
		require.Equal(t, "the light of "+row.IPMIAddress+" "+c.says+"\n", out)
		require.Equal(t, c.led, m.Settings().LED)
	}
	_, err = run("identify", "--seconds=256")
	require.ErrorContains(t, err, "1 to 255")
	_, err = run("nmi")
	require.ErrorContains(t, err, "0xd5", "the server is off")
	require.NoError(t, m.Reset(machine.ResetOn))
	require.Eventually(t, func() bool { return m.PowerState() == machine.On }, 20*time.Second, time.Millisecond)
	out, err = run("nmi", "--driver-info", "ipmi_cipher_suite=3")
	require.NoError(t, err)
	require.Equal(t, "an NMI was sent to the server of "+row.IPMIAddress+"\n", out)
	actions := m.PowerActions()
	require.Equal(t, machine.ResetNMI, actions[len(actions)-1].ResetType)
	out, err = run("restart")
	require.NoError(t, err)
	require.Equal(t, row.IPMIAddress+" restarts, and answers again in some minutes\n", out)
	require.Eventually(t, func() bool { return !m.BMCStarted().IsZero() }, 20*time.Second, time.Millisecond)

	_, err = run("nmi", "--driver-info", "ipmi_cipher_suite=0")
	require.ErrorContains(t, err, "ipmi_cipher_suite")
	_, err = run("nmi", "--driver-info", "hunter2")
	require.ErrorContains(t, err, "NAME=VALUE")
	require.NotContains(t, err.Error(), "hunter2")
}
