package hardware

import (
	"slices"
	"strings"

	"go.temper.dev/temper/internal/agent"
)

// PCIDevices returns the devices on the PCI buses, with their numbers as ironic-python-agent's collector pci-devices sends them.
func (m Machine) PCIDevices() []agent.PCIDevice {
	out := []agent.PCIDevice{}
	for _, at := range m.list("sys/bus/pci/devices") {
		digits := func(file string) agent.Text {
			return agent.Text(strings.TrimPrefix(m.read("sys/bus/pci/devices", at, file), "0x"))
		}
		d := agent.PCIDevice{Vendor: digits("vendor"), Product: digits("device"), Class: digits("class"), Revision: digits("revision"), Bus: agent.Text(at)}
		if d.Vendor != "" && d.Product != "" {
			out = append(out, d)
		}
	}
	return out
}

// virtualLinks are drivers of interfaces that have no switch at their other end.
var virtualLinks = []string{"virtio_net", "vmxnet3", "xen_netfront", "hv_netvsc", "veth"}

// Links returns the names of the interfaces with a link at whose other end a switch may be.
func (m Machine) Links() (out []string) {
	for _, i := range m.interfaces() {
		if i.HasCarrier && !slices.Contains(virtualLinks, string(i.Driver)) {
			out = append(out, string(i.Name))
		}
	}
	return out
}
