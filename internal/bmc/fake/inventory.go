package fake

import (
	"fmt"
	"hash/fnv"

	"go.temper.dev/temper/internal/bmc"
)

// inventory returns the hardware of a fake server. Serial and MAC are computed from the
// node's uuid, so that two inspections of a node agree and two nodes differ.
func inventory(node string) bmc.Inventory {
	h := fnv.New64a()
	h.Write([]byte(node))
	id := h.Sum64()
	// 02 in the first byte: a locally administered address, which no card on sale has.
	mac := fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", byte(id>>32), byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
	return bmc.Inventory{
		CPUs: 8, CPUModel: "Fake CPU", Architecture: "x86_64", MemoryMiB: 16384,
		Disks:        []bmc.Disk{{Name: "fake0", SizeBytes: 100 << 30, Serial: fmt.Sprintf("DISK%016X", id), Model: "Fake Disk", Media: "ssd"}},
		NICs:         []bmc.NIC{{Name: "eth0", MAC: mac, Enabled: true, LinkUp: true}},
		Manufacturer: "Temper", Model: "Fake Machine", Serial: fmt.Sprintf("%016X", id), SystemUUID: node, BootMode: bmc.ModeUEFI,
	}
}
