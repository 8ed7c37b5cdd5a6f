package node

import (
	"strings"

	"go.temper.dev/temper/internal/jsonvalue"
)

// WantsSecureBoot reports whether n's instance is to boot with Secure Boot: its capabilities in instance_info say secure_boot true (Ironic
// conductor/boot_mode_utils.py, is_secure_boot_requested). They are an object, JSON text of one, or a list as in "boot_mode:uefi,secure_boot:true".
func (n *Node) WantsSecureBoot() bool {
	switch given := n.InstanceInfo["capabilities"].(type) {
	case map[string]any:
		return isTrue(given["secure_boot"])
	case string:
		var object map[string]any
		if jsonvalue.Unmarshal([]byte(given), &object) == nil {
			return isTrue(object["secure_boot"])
		}
		for capability := range strings.SplitSeq(given, ",") {
			if name, value, _ := strings.Cut(strings.TrimSpace(capability), ":"); name == "secure_boot" {
				return isTrue(value)
			}
		}
	}
	return false
}

func isTrue(v any) bool {
	s, ok := v.(string)
	return v == true || ok && strings.EqualFold(s, "true")
}
