package activities

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/node"
)

// fromAgent is what in-band inspection makes of an agent's inventory: Ironic's
// hooks ports, architecture and memory; local_gb of the smallest disk over 4 GiB,
// less one, as Ironic's root device hint default does.
func fromAgent(raw map[string]any) (node.Inspection, error) {
	b, err := json.Marshal(raw)
	if err != nil {
		return node.Inspection{}, fmt.Errorf("encode: %w", err)
	}
	var inv agent.Inventory
	if err := json.Unmarshal(b, &inv); err != nil {
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
	put("local_gb", rootDisk(inv.Disks))
	if inv.CPU.Architecture != "" {
		props["cpu_arch"] = string(inv.CPU.Architecture)
	}
	out := node.Inspection{Properties: props, BootMode: string(inv.Boot.Mode)}
	pxe := strings.ToLower(string(inv.Boot.PXEInterface))
	for _, n := range inv.Interfaces {
		hw, err := net.ParseMAC(string(n.MAC))
		if err != nil {
			continue // no address, or none that a port could have
		}
		mac := hw.String()
		out.Ports = append(out.Ports, node.Port{Address: mac, PXEEnabled: pxe == "" || pxe == mac})
	}
	return out, nil
}

func rootDisk(disks []agent.Disk) int64 {
	const least = 4 * gib
	var best int64
	for _, d := range disks {
		if size := int64(d.Size); size >= least && (best == 0 || size < best) {
			best = size
		}
	}
	if best == 0 {
		return 0
	}
	return best/gib - 1
}
