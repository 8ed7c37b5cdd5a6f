package conductor

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// countPCI returns capabilities, which are as in "boot_mode:uefi,a100:2", with one for each alias of which there are devices (Ironic's hook
// pci-devices). ids are "vendor:product". An alias without devices is taken out, so that no scheduler counts on what was removed.
func countPCI(capabilities string, aliases map[string]string, ids []string) string {
	counts := map[string]int{}
	for _, alias := range aliases {
		counts[alias] = 0
	}
	for _, id := range ids {
		if alias, ok := aliases[strings.ToLower(id)]; ok {
			counts[alias]++
		}
	}
	var out []string
	for one := range strings.SplitSeq(capabilities, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(one), ":")
		if _, counted := counts[name]; name != "" && !counted {
			out = append(out, strings.TrimSpace(one))
		}
	}
	for _, alias := range slices.Sorted(maps.Keys(counts)) {
		if counts[alias] > 0 {
			out = append(out, alias+":"+strconv.Itoa(counts[alias]))
		}
	}
	return strings.Join(out, ",")
}

// pciOfAgent lists the devices that an agent has sent as "vendor:product"; ok is false if it has sent none at all.
func pciOfAgent(plugin map[string]any) (ids []string, ok bool) {
	list, ok := plugin["pci_devices"].([]any)
	for _, v := range list {
		device, _ := v.(map[string]any)
		vendor, _ := device["vendor_id"].(string)
		product, _ := device["product_id"].(string)
		ids = append(ids, vendor+":"+product)
	}
	return ids, ok
}
