package ipmi_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/ipmi"
	"go.temper.dev/temper/internal/fault"
)

func TestDriverInfoIsChecked(t *testing.T) {
	t.Parallel()
	d := ipmi.New(quick())
	good := map[string]any{"ipmi_address": "127.0.0.1"}
	with := func(more map[string]any) map[string]any {
		out := maps.Clone(good)
		maps.Copy(out, more)
		return out
	}
	for name, info := range map[string]map[string]any{
		"the least":        {},
		"everything":       {"ipmi_port": "6230", "ipmi_username": "ADMIN", "ipmi_password": "ADMIN", "ipmi_hex_kg_key": strings.Repeat("0A", 20), "ipmi_priv_level": "Operator", "ipmi_cipher_suite": 3.0, "ipmi_protocol_version": 2.0, "ipmi_disable_boot_timeout": "False", "ipmi_force_boot_device": "false", "ipmi_terminal_port": "6001"},
		"a name":           {"ipmi_address": "BMC-7.example.org"},
		"IPv6":             {"ipmi_address": "2001:db8::7"},
		"IPv6 in brackets": {"ipmi_address": "[2001:db8::7]"},
		"empty is absent":  {"ipmi_port": "", "ipmi_cipher_suite": "", "ipmi_priv_level": "", "ipmi_hex_kg_key": "", "ipmi_protocol_version": ""},
		"null is absent":   {"ipmi_port": nil, "ipmi_username": nil, "ipmi_disable_boot_timeout": nil},
		"longest allowed":  {"ipmi_username": strings.Repeat("u", 16), "ipmi_password": strings.Repeat("p", 20)},
		"bridged":          {"ipmi_bridging": "single", "ipmi_target_channel": 6.0, "ipmi_target_address": "0x72", "ipmi_local_address": ""},
		"bridged twice":    {"ipmi_bridging": "Dual", "ipmi_target_channel": "6", "ipmi_target_address": 114.0, "ipmi_transit_channel": "0x0", "ipmi_transit_address": "0x82", "ipmi_local_address": "0x20"},
		"not bridged":      {"ipmi_bridging": "no"},
		"somebody else's":  {"deploy_iso": 7},
	} {
		require.NoError(t, d.Validate(with(info)), name)
	}
	for name, wrong := range map[string]struct {
		info  map[string]any
		names []string
	}{
		"nothing":     {map[string]any{"ipmi_address": ""}, []string{"ipmi_address is missing"}},
		"a URL":       {map[string]any{"ipmi_address": "https://admin:hunter2@bmc"}, []string{"ipmi_address"}},
		"with a port": {map[string]any{"ipmi_address": "bmc:623"}, []string{"ipmi_port"}},
		"types": {
			map[string]any{"ipmi_address": 7.0, "ipmi_username": true, "ipmi_password": []any{}, "ipmi_hex_kg_key": 7.0, "ipmi_priv_level": 4.0, "ipmi_protocol_version": []any{}, "ipmi_port": []any{}, "ipmi_cipher_suite": true, "ipmi_disable_boot_timeout": 1.0, "ipmi_force_boot_device": 1.0},
			[]string{"ipmi_force_boot_device is neither", "ipmi_address", "ipmi_username", "ipmi_password", "ipmi_hex_kg_key", "ipmi_priv_level", "ipmi_protocol_version", "ipmi_port", "ipmi_cipher_suite", "ipmi_disable_boot_timeout"},
		},
		"values": {
			map[string]any{"ipmi_hex_kg_key": "hunter2", "ipmi_priv_level": "ROOT", "ipmi_protocol_version": "1.5", "ipmi_port": 65536.0, "ipmi_terminal_port": "0", "ipmi_cipher_suite": "0", "ipmi_disable_boot_timeout": "maybe", "ipmi_force_boot_device": "True"},
			[]string{"ipmi_force_boot_device is true, which is not supported", "ipmi_terminal_port", "ipmi_hex_kg_key", "ipmi_priv_level", "ipmi_protocol_version", "ipmi_port", "ipmi_cipher_suite", "ipmi_disable_boot_timeout"},
		},
		"a bridge to nowhere":    {map[string]any{"ipmi_bridging": "dual"}, []string{"ipmi_target_channel", "ipmi_target_address", "ipmi_transit_channel", "ipmi_transit_address"}},
		"a bridge of wrong kind": {map[string]any{"ipmi_bridging": "triple", "ipmi_local_address": "x"}, []string{"ipmi_bridging", "ipmi_local_address"}},
		"a bridge too far":       {map[string]any{"ipmi_bridging": "single", "ipmi_target_channel": "16", "ipmi_target_address": 256.0}, []string{"ipmi_target_channel", "ipmi_target_address"}},
		"too long":               {map[string]any{"ipmi_username": strings.Repeat("u", 17), "ipmi_password": "hunter2" + strings.Repeat("p", 14)}, []string{"ipmi_username", "ipmi_password"}},
		"fractions":              {map[string]any{"ipmi_port": 623.5, "ipmi_cipher_suite": 1e300}, []string{"ipmi_port", "ipmi_cipher_suite"}},
		"metadata":               {map[string]any{"ipmi_address": "169.254.169.254"}, []string{"ipmi_address"}},
	} {
		err := d.Validate(with(wrong.info))
		require.Equal(t, fault.Invalid, fault.KindOf(err), name)
		for _, p := range wrong.names {
			require.ErrorContains(t, err, p, name)
		}
		require.NotContains(t, err.Error(), "hunter2", name)
	}
}

// The properties are those of Ironic's interfaces named ipmitool, and of its console ipmitool-socat.
func TestThePropertiesAreIronics(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range hardwareType().AllProperties() {
		if name, ipmi := strings.CutPrefix(p.Name, "ipmi_"); ipmi { // others are our own, or those of the boot interface
			names = append(names, name)
		}
	}
	require.ElementsMatch(t, []string{
		"address", "bridging", "cipher_suite", "disable_boot_timeout", "force_boot_device", "hex_kg_key", "local_address", "password", "port",
		"priv_level", "protocol_version", "target_address", "target_channel", "terminal_port", "transit_address", "transit_channel", "username",
	}, names)
}

func TestAnAddressThatIsNotAllowedIsNotAsked(t *testing.T) {
	t.Parallel()
	d := newDriver(t, ipmi.Config{}) // no loopback
	_, err := d.Open(t.Context(), bmc.Target{Info: map[string]any{"ipmi_address": "localhost"}})
	require.Equal(t, fault.Invalid, fault.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "ipmi_address")
}
