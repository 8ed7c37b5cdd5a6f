package secret_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// The values that a node has of the list are part of every seal that there is. A name of which nodes have a value already needs a
// new seal version; one of a new hardware type does not.
func TestThePasswordOfABMCIsBoundToItsAddress(t *testing.T) {
	info := map[string]any{"deploy_iso": "http://images/ipa.iso"}
	for _, name := range HardwareTypes() {
		h, _ := Hardware(name)
		for _, p := range h.Properties {
			info[p.Name] = "x"
		}
	}
	bound := secret.DestinationOf(&Node{Driver: "redfish", DriverInfo: info}, "driver_info/redfish_password")
	require.Equal(t, []string{
		"driver", "driver_info/ipmi_address", "driver_info/ipmi_cipher_suite", "driver_info/ipmi_port", "driver_info/ipmi_protocol_version",
		"driver_info/redfish_address", "driver_info/redfish_auth_type", "driver_info/redfish_verify_ca",
	}, slices.Sorted(maps.Keys(bound)))
	require.Equal(t, bound, secret.DestinationOf(&Node{Driver: "redfish", DriverInfo: info}, "driver_info/ipmi_hex_kg_key"))
}
