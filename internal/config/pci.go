package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Inspecting says what inspections make of what they find.
type Inspecting struct {
	PCIAliases PCIAliases `key:"pci_device_alias" help:"capabilities that say how many PCI devices of a kind a node has, as a100=10de:20b0; several kinds of one capability with spaces between them"`
}

// PCIAliases are the kinds of PCI devices, as "VENDOR:PRODUCT VENDOR:PRODUCT", by the name of the capability that counts them.
type PCIAliases map[string]string

var (
	pciID          = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{4}$`)
	capabilityName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// ByID returns the name of the capability by "vendor:product".
func (a PCIAliases) ByID() (map[string]string, error) {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !capabilityName.MatchString(name) {
			return nil, fmt.Errorf("%q is no name of a capability: letters, digits, _ . -", name)
		}
		ids := strings.Fields(strings.ToLower(a[name]))
		if len(ids) == 0 {
			return nil, fmt.Errorf("%s has no device", name)
		}
		for _, id := range ids {
			if !pciID.MatchString(id) {
				return nil, fmt.Errorf("%s: %q is not VENDOR:PRODUCT with four hexadecimal digits each, such as 10de:20b0", name, id)
			}
			if other, twice := out[id]; twice {
				return nil, fmt.Errorf("%s: %s has %s already", name, other, id)
			}
			out[id] = name
		}
	}
	return out, nil
}

func (c Inspecting) check(p *problems) {
	if _, err := c.PCIAliases.ByID(); err != nil {
		p.refuse("pci_device_alias", "want devices by capability, such as a100=10de:20b0: %w", err)
	}
}
