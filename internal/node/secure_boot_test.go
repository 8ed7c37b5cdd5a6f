package node

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnInstanceMayWantSecureBoot(t *testing.T) {
	for _, given := range []any{
		map[string]any{"boot_mode": "uefi", "secure_boot": "true"}, map[string]any{"secure_boot": true}, `{"secure_boot": "True"}`, "boot_mode:uefi, secure_boot:true",
	} {
		n := &Node{InstanceInfo: map[string]any{"capabilities": given}}
		require.True(t, n.WantsSecureBoot(), "%v", given)
	}
	for _, given := range []any{nil, "", "boot_mode:uefi", map[string]any{"secure_boot": "false"}, []any{"secure_boot"}, 7.0, "secure_boot"} {
		n := &Node{InstanceInfo: map[string]any{"capabilities": given}, Properties: map[string]any{"capabilities": "secure_boot:true"}}
		require.False(t, n.WantsSecureBoot(), "%v", given)
	}
}

func TestAnInstanceMayWantABootMode(t *testing.T) {
	of := func(capabilities any) (string, error) {
		return (&Node{InstanceInfo: map[string]any{"capabilities": capabilities}}).WantsBootMode()
	}
	for want, all := range map[string][]any{
		"":     {nil, "", "secure_boot:true", map[string]any{}, 7.0},
		"uefi": {"boot_mode:uefi", `{"boot_mode": "UEFI"}`, map[string]any{"boot_mode": "uefi", "secure_boot": "true"}},
		"bios": {"a:b, boot_mode:bios", map[string]any{"boot_mode": "bios", "secure_boot": "false"}},
	} {
		for _, capabilities := range all {
			got, err := of(capabilities)
			require.NoError(t, err)
			require.Equal(t, want, got, "%v", capabilities)
		}
	}
	_, err := of("boot_mode:legacy")
	require.ErrorContains(t, err, `must be uefi or bios, not "legacy"`)
	_, err = of("boot_mode:bios,secure_boot:true")
	require.ErrorContains(t, err, "only uefi has Secure Boot")
}
