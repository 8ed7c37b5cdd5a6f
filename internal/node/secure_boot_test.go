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
