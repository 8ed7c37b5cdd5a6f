package conductor

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/rootdevice"
	"go.temper.dev/temper/internal/text"
)

// inspectionOfAgent is what in-band inspection of n makes of an agent's inventory and its other data: Ironic's
// hooks validate-interfaces, ports, architecture, memory, root-device, local-link-connection and pci-devices, whose aliases are by
// "vendor:product" (drivers/modules/inspector/hooks). local_gb is that of the disk
// that n's root device hints name or, without hints, of the smallest disk over 4 GiB, less one.
func inspectionOfAgent(n *node.Node, raw, plugin map[string]any, aliases map[string]string) (node.Inspection, error) {
	b, err := json.Marshal(raw)
	if err != nil {
		return node.Inspection{}, fmt.Errorf("encode: %w", err)
	}
	var inv agent.Inventory
	if err := jsonvalue.Unmarshal(b, &inv); err != nil {
		return node.Inspection{}, fmt.Errorf("decode: %w", err)
	}
	props := map[string]any{}
	put := func(key string, v int64) {
		if v > 0 {
			props[key] = strconv.FormatInt(v, 10)
		}
	}
	put("cpus", int64(inv.CPU.Count))
	memory := int64(inv.Memory.PhysicalMB)
	if memory == 0 {
		memory = int64(inv.Memory.Total) >> 20
	}
	put("memory_mb", memory)
	put("local_gb", rootGB(n, raw, inv.Disks))
	if arch := string(inv.CPU.Architecture); arch != "" && len(arch) <= maxArchitecture {
		props["cpu_arch"] = arch
	}
	out := node.Inspection{Properties: props}
	if mode := string(inv.Boot.Mode); mode == "uefi" || mode == "bios" {
		out.BootMode = mode
	}
	if ids, ok := pciOfAgent(plugin); ok && len(aliases) > 0 {
		capabilities, _ := n.Properties["capabilities"].(string)
		if counted := countPCI(capabilities, aliases, ids); counted != capabilities {
			props["capabilities"] = counted
		}
	}
	pxe := pxeMAC(string(inv.Boot.PXEInterface))
	for _, i := range inv.Interfaces {
		mac, ok := portAddress(i)
		if !ok {
			continue
		}
		out.Ports = append(out.Ports, node.Port{Address: mac, PXEEnabled: pxe == "" || pxe == mac, AvailableForDynamicPortgroup: true, LocalLinkConnection: linkOf(plugin, string(i.Name))})
	}
	if len(out.Ports) == 0 {
		return node.Inspection{}, fmt.Errorf("no valid network interfaces: %s", interfacesSeen(inv.Interfaces))
	}
	return out, nil
}

// portAddress is the MAC address of an interface of which a port can be made.
func portAddress(i agent.Interface) (mac string, ok bool) {
	mac, err := node.ValidMAC(string(i.MAC))
	return mac, err == nil && isUnicast(mac) && i.Name != "lo"
}

// interfacesSeen lists interfaces, for an error.
func interfacesSeen(all []agent.Interface) string {
	const most = 8
	if len(all) == 0 {
		return "the inventory has none"
	}
	var words []string
	for _, i := range all[:min(len(all), most)] {
		mac := "without a MAC address"
		if i.MAC != "" {
			mac = "with the MAC address " + text.Line(string(i.MAC), 40)
		}
		words = append(words, strings.TrimSpace(text.Line(string(i.Name), 40)+" "+mac))
	}
	return "the inventory has " + strings.Join(words, ", ")
}

// pxeMAC is the MAC address of the interface that the server has booted from, which pxelinux writes as 01-52-54-00-00-00-01.
func pxeMAC(told string) string {
	told = strings.ReplaceAll(strings.ToLower(told), "-", ":")
	if kind, mac, ok := strings.Cut(told, ":"); ok && kind == "01" && strings.Count(mac, ":") == 5 {
		return mac
	}
	return told
}

// rootGB is local_gb of a node.
func rootGB(n *node.Node, inventory map[string]any, disks []agent.Disk) int64 {
	if hinted := (&node.Node{UUID: n.UUID, Properties: n.Properties}); admission.Hinted(hinted) {
		if root, known, err := admission.RootDisk(hinted, inventory); known {
			if err != nil {
				return 0
			}
			return localGB([]int64{root.Size})
		}
	}
	var sizes []int64
	for _, d := range disks {
		sizes = append(sizes, int64(d.Size))
	}
	return localGB(sizes)
}

// linkOf is to which port of which switch an interface is connected, as far as LLDP says it; nil = it does not. A switch whose id is no
// MAC can't be a port's switch_id.
func linkOf(plugin map[string]any, name string) map[string]any {
	all, _ := plugin["parsed_lldp"].(map[string]any)
	said, _ := all[name].(map[string]any)
	id, _ := said["switch_chassis_id"].(string)
	port, _ := said["switch_port_id"].(string)
	mac, err := node.ValidMAC(id)
	if err != nil || port == "" || len(port) > maxSwitchText {
		return nil
	}
	link := map[string]any{"switch_id": mac, "port_id": port}
	if system, _ := said["switch_system_name"].(string); system != "" && len(system) <= maxSwitchText {
		link["switch_info"] = system
	}
	return link
}

// maxSwitchText bounds what a switch says of itself, in bytes.
const maxSwitchText = 255

// maxArchitecture bounds the name of a processor architecture, in bytes.
const maxArchitecture = 64

// isUnicast reports whether a MAC is that of a single interface: not a multicast
// address, and not all zeros.
func isUnicast(mac string) bool {
	hw, err := net.ParseMAC(mac)
	return err != nil || hw[0]&1 == 0 && slices.ContainsFunc(hw, func(b byte) bool { return b != 0 })
}

const gib = 1 << 30

// localGB is Ironic's rule (redfish/inspect.py, _detect_local_gb, and the root device hint's
// default): the smallest disk of at least 4 GiB, in GiB, less one for the partition table and
// the config drive; 0 where there is none. sizes are in bytes.
func localGB(sizes []int64) int64 {
	smallest := int64(0)
	for _, size := range sizes {
		if size >= rootdevice.LeastSize && (smallest == 0 || size < smallest) {
			smallest = size
		}
	}
	return max(smallest/gib-1, 0)
}
