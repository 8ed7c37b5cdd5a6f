package conductor

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/rootdevice"
)

// inspectionOfAgent is what in-band inspection makes of an agent's inventory: Ironic's
// hooks ports, architecture and memory; local_gb of the smallest disk over 4 GiB,
// less one, as Ironic's root device hint default does.
func inspectionOfAgent(raw map[string]any) (node.Inspection, error) {
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
	var sizes []int64
	for _, d := range inv.Disks {
		sizes = append(sizes, int64(d.Size))
	}
	put("local_gb", localGB(sizes))
	if arch := string(inv.CPU.Architecture); arch != "" && len(arch) <= maxArchitecture {
		props["cpu_arch"] = arch
	}
	out := node.Inspection{Properties: props}
	if mode := string(inv.Boot.Mode); mode == "uefi" || mode == "bios" {
		out.BootMode = mode
	}
	pxe := strings.ToLower(string(inv.Boot.PXEInterface))
	for _, n := range inv.Interfaces {
		mac, err := node.ValidMAC(string(n.MAC))
		if err != nil || !isUnicast(mac) {
			continue // no address, or none that a port could have
		}
		out.Ports = append(out.Ports, node.Port{Address: mac, PXEEnabled: pxe == "" || pxe == mac, AvailableForDynamicPortgroup: true})
	}
	return out, nil
}

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
