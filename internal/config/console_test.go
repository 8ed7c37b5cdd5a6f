package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/config"
)

func TestThePortsOfConsoles(t *testing.T) {
	first, end, err := config.Console{PortRange: "10000:11000"}.Ports()
	require.NoError(t, err)
	require.Equal(t, []int{10000, 11000}, []int{first, end})
	for _, wrong := range []string{"", "10000", "10000:", "x:y", "0:10", "11000:10000", "10000:10000", "1:65537", "1:2:3"} {
		_, _, err := config.Console{PortRange: wrong}.Ports()
		require.ErrorContains(t, err, "START:STOP", wrong)
	}
}

func TestWhereConsolesAre(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1": "", "2001:db8::1": "", "0.0.0.0": "want the IP address", "::": "want the IP address", "conductor-1": "want the IP address", "": "want the IP address",
	} {
		_, err := load(t, &config.Conductor{}, "", needed(), "--console-socat-address="+address)
		if want == "" {
			require.NoError(t, err, address)
			continue
		}
		require.ErrorContains(t, err, "console.socat_address", address)
		require.ErrorContains(t, err, want, address)
	}
	_, err := load(t, &config.Conductor{}, "console: {port_range: 70000, terminal_timeout: -1s}\n", needed())
	require.ErrorContains(t, err, "console.port_range")
	require.ErrorContains(t, err, "console.terminal_timeout")
}
