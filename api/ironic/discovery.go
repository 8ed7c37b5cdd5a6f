package ironic

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/rootdevice"
)

// discover keeps what an agent found on a server that is not enrolled. The agent gets no uuid, as there is none: it goes on asking.
func (s *Server) discover(c *gin.Context, found agent.Inspection, macs []string) error {
	if len(found.RawInventory) > node.MaxDiscoveryInventory {
		return fault.New(fault.TooLarge, "The inventory of a server that is not enrolled can have %d bytes.", node.MaxDiscoveryInventory)
	}
	inventory, _, err := inspectionData(found)
	if err != nil {
		return err
	}
	d := discoveryOf(found.Inventory, macs)
	d.Inventory, d.Source = inventory, c.RemoteIP()
	uuid, err := s.Store.PutDiscovery(c.Request.Context(), d)
	if err == nil {
		httpd.Logger(c).Info("a server was discovered", zap.String("discovery", uuid), zap.String("serial", d.Serial), zap.String("from", d.Source))
	}
	return err
}

// discoveryOf returns what an inventory says of a server.
func discoveryOf(i *agent.Inventory, macs []string) node.Discovery {
	d := node.Discovery{
		MACs: macs, Manufacturer: string(i.SystemVendor.Manufacturer), Product: string(i.SystemVendor.ProductName), Serial: string(i.SystemVendor.SerialNumber),
		BMCAddress: bmcAddress(i), Arch: string(i.CPU.Architecture), BootMode: string(i.Boot.Mode),
		CPUs: max(int64(i.CPU.Count), 0), MemoryMB: max(int64(cmp.Or(i.Memory.PhysicalMB, i.Memory.Total>>20)), 0),
	}
	// The ironic-python-agent sends BOOTIF as PXELINUX writes it: the type of the hardware, 01 for Ethernet, and the MAC with hyphens.
	boot := strings.ReplaceAll(strings.TrimPrefix(string(i.Boot.PXEInterface), "01-"), "-", ":")
	if mac, ok := normalMAC(boot); ok && slices.Contains(macs, mac) {
		d.BootMAC = mac
	}
	for _, disk := range i.Disks {
		if size := int64(disk.Size); size >= rootdevice.LeastSize && (d.DiskGB == 0 || size>>30 < d.DiskGB) {
			d.DiskGB = size >> 30
		}
	}
	return d
}

// bmcAddress returns the address of the BMC that an agent found, that of IPv4 first; "" = none. Agents send 0.0.0.0 or :: for none.
func bmcAddress(i *agent.Inventory) string {
	for _, a := range []agent.Text{i.BMCAddress, i.BMCV6Address} {
		if ip := net.ParseIP(string(a)); ip != nil && !ip.IsUnspecified() {
			return ip.String()
		}
	}
	return ""
}
