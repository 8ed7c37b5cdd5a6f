package secret_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// The list is part of every seal that there is: a change of it needs a new seal version.
func TestThePasswordOfABMCIsBoundToItsAddress(t *testing.T) {
	info := map[string]any{"deploy_iso": "http://images/ipa.iso"}
	for _, name := range HardwareTypes() {
		h, _ := Hardware(name)
		for _, p := range h.Properties {
			info[p.Name] = "x"
		}
	}
	bound := secret.DestinationOf(&Node{Driver: "redfish", DriverInfo: info}, "driver_info/redfish_password")
	require.Equal(t, []string{"driver", "driver_info/redfish_address", "driver_info/redfish_auth_type", "driver_info/redfish_verify_ca"},
		slices.Sorted(maps.Keys(bound)))
}
