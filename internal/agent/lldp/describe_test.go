package lldp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/lldp"
)

// The names are those of Ironic's hook parse-lldp.
func TestDescribe(t *testing.T) {
	t.Parallel()
	raw := []any{
		[]any{1.0, "04885a92ec5459"},
		[]any{2.0, "0545746865726e6574312f3138"},
		[]any{3.0, "0078"},
		[]any{4.0, "72 no digits"},
		[]any{5.0, "737730310a"},
		[]any{6.0, "4f53203100"},
		[]any{127.0, "0080c2010065"},
		[]any{127.0, "00120f042400"},
		[]any{127.0, "0080c20100"},
		"no pair",
		[]any{1.5, "00"},
		[]any{"x"},
	}
	require.Equal(t, map[string]any{
		"switch_chassis_id": "88:5a:92:ec:54:59", "switch_port_id": "Ethernet1/18", "switch_system_name": "sw01", "switch_system_description": "OS 1",
		"switch_port_untagged_vlan_id": 101, "switch_port_mtu": 9216,
	}, lldp.Describe(lldp.Read(raw)))
	require.Equal(t, map[string]any{"switch_chassis_id": "192.0.2.1", "switch_port_id": "02:00:00:00:00:01"},
		lldp.Describe([]lldp.TLV{{Type: 1, Value: []byte{5, 1, 192, 0, 2, 1}}, {Type: 2, Value: []byte{3, 2, 0, 0, 0, 0, 1}}, {Type: 4}, {Type: 1, Value: []byte{4}}}))
	require.Empty(t, lldp.Describe(lldp.Read("nothing")))
}
