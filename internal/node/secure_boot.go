package node

import (
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/text"
)

// WantsSecureBoot reports whether n's instance is to boot with Secure Boot: its capabilities in instance_info say secure_boot true (Ironic
// conductor/boot_mode_utils.py, is_secure_boot_requested).
func (n *Node) WantsSecureBoot() bool {
	v := n.instanceCapability("secure_boot")
	s, ok := v.(string)
	return v == true || ok && strings.EqualFold(s, "true")
}

// WantsBootMode is the boot mode that n's instance is to have by its capabilities in instance_info; "" = any. The error, fault.Invalid, says
// why a server can't boot so.
func (n *Node) WantsBootMode() (string, error) {
	v := n.instanceCapability("boot_mode")
	if v == nil {
		return "", nil
	}
	given, _ := v.(string)
	mode := strings.ToLower(strings.TrimSpace(given))
	switch {
	case mode != BootModeUEFI && mode != BootModeBIOS:
		return "", fault.New(fault.Invalid, "boot_mode in the capabilities of instance_info must be uefi or bios, not %q", text.Cut(given))
	case mode == BootModeBIOS && n.WantsSecureBoot():
		return "", fault.New(fault.Invalid, "the capabilities of instance_info want boot_mode bios and secure_boot true: only uefi has Secure Boot")
	}
	return mode, nil
}

// instanceCapability returns a capability of the instance; nil = it has none of this name. Capabilities are an object, JSON text of one, or a
// list as in "boot_mode:uefi,secure_boot:true".
func (n *Node) instanceCapability(name string) any {
	switch given := n.InstanceInfo["capabilities"].(type) {
	case map[string]any:
		return given[name]
	case string:
		var object map[string]any
		if jsonvalue.Unmarshal([]byte(given), &object) == nil {
			return object[name]
		}
		for capability := range strings.SplitSeq(given, ",") {
			if key, value, ok := strings.Cut(strings.TrimSpace(capability), ":"); ok && key == name {
				return value
			}
		}
	}
	return nil
}
