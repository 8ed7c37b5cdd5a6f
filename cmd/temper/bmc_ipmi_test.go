package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
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

// What has happened to a server is shown by the same command over both protocols, and is gone afterwards if that was asked for.
func TestTheEventsOfABMCAreShownAndCleared(t *testing.T) {
	for name, persona := range map[string]string{"IPMI": "generic", "Dell": "idrac9", "HPE": "ilo5"} {
		t.Run(name, func(t *testing.T) {
			rack, row := startRack(t, sim.Config{IPMI: true, PowerDelay: time.Millisecond, Personas: []string{persona}})
			m := rack.Server(row.Name)
			args := []string{"bmc", "events", row.RedfishAddress, "--username", row.RedfishUsername, "--password-file", passwordIn(t, row.RedfishPassword)}
			failed := "A login was refused."
			if name == "IPMI" {
				args[2], failed = row.IPMIAddress, "Invalid Username or Password"
				args = append(args, "--ipmi", "--port", strconv.Itoa(row.IPMIPort))
			}
			events := func(more ...string) string {
				t.Helper()
				out, err := temper(t, append(slices.Clone(args), more...)...)
				require.NoError(t, err, "%s", out)
				return out
			}
			require.False(t, m.CheckPassword("admin", "wrong"))
			require.NoError(t, m.Reset(machine.ResetOn))
			require.Eventually(t, func() bool { return m.PowerState() == machine.On }, 20*time.Second, time.Millisecond)
			require.NoError(t, m.Reset(machine.ResetNMI))
			out := events()
			require.Contains(t, out, failed)
			require.Regexp(t, "(?s)(switched on|working).*(maskable|NMI)", out)
			require.Equal(t, 2, strings.Count(events("--limit", "1"), "\n"), "the header and one entry")
			var shown struct{ Events []struct{ ID, Event string } }
			require.NoError(t, json.Unmarshal([]byte(events("--json")), &shown))
			require.GreaterOrEqual(t, len(shown.Events), 3)

			require.Contains(t, events("--limit", "1", "--clear"), "temper: cleared ")
			left := m.Log.Entries()
			for _, e := range left {
				require.NotEqual(t, machine.LogPoweredOn, e.Kind)
			}
			_, err := temper(t, append(slices.Clone(args), "--limit", "0")...)
			require.ErrorContains(t, err, "--limit")
		})
	}
	_, row := startRack(t, sim.Config{Personas: []string{"xcc"}})
	_, err := temper(t, "bmc", "events", row.RedfishAddress, "--username", row.RedfishUsername, "--password-file", passwordIn(t, row.RedfishPassword))
	require.ErrorContains(t, err, "offers no event log")
}
