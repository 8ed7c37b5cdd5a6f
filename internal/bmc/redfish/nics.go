package redfish

import (
	"context"
	"net"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
)

type ethernetInterface struct {
	ID                  looseString `json:"Id"`
	Name                looseString
	MACAddress          looseString
	PermanentMACAddress looseString
	LinkStatus          looseString
	SpeedMbps           looseNumber
	InterfaceEnabled    loose[*bool]
	Links               loose[struct {
		HostInterface  link
		HostInterfaces links
	}]
	Status loose[status]
}

// readNICs sets the Ethernet interfaces that have an address, each address once: VLANs and
// bridges have that of their card. It leaves out interfaces that connect to the BMC: their
// addresses are often the same on all servers of a model.
func (in *inspection) readNICs(ctx context.Context) error {
	return each(ctx, in.session, in.sys.EthernetInterfaces, func(e ethernetInterface) {
		mac := parseMAC(string(e.MACAddress))
		if mac == "" {
			mac = parseMAC(string(e.PermanentMACAddress))
		}
		if mac == "" || in.nic(mac) != nil || e.Status.v.absent() || e.toBMC() {
			return
		}
		in.inv.NICs = append(in.inv.NICs, bmc.NIC{
			Name: e.ID.stored(), MAC: mac, Enabled: e.enabled(), Mbps: int64(e.SpeedMbps),
			LinkUp: e.LinkStatus == looseString(schemas.LinkUpLinkStatus),
		})
	})
}

// nic returns the interface with that address, nil if there is none.
func (in *inspection) nic(mac string) *bmc.NIC {
	for i := range in.inv.NICs {
		if in.inv.NICs[i].MAC == mac {
			return &in.inv.NICs[i]
		}
	}
	return nil
}

// nicNamed returns the interface with that name, nil if there is none.
func (in *inspection) nicNamed(name string) *bmc.NIC {
	for i := range in.inv.NICs {
		if in.inv.NICs[i].Name == name {
			return &in.inv.NICs[i]
		}
	}
	return nil
}

// enabled reports whether the interface is enabled, which it is unless the BMC says
// otherwise.
func (e ethernetInterface) enabled() bool {
	if on := e.InterfaceEnabled.v; on != nil && !*on {
		return false
	}
	return e.Status.v.State == "" || e.Status.v.State == looseString(schemas.EnabledState)
}

// toBMC reports whether the interface is the system's end of a host interface, which
// connects it to the BMC: it links to a host interface or has Supermicro's name for one.
func (e ethernetInterface) toBMC() bool {
	return e.Links.v.HostInterface != "" || len(e.Links.v.HostInterfaces) > 0 ||
		strings.EqualFold(string(e.ID), "ToManager") || strings.EqualFold(string(e.Name), "Host Ethernet Interface")
}

// parseMAC returns an Ethernet address in lower case with colons, "" for anything else.
func parseMAC(s string) string {
	hw, err := net.ParseMAC(s)
	if err != nil || len(hw) != 6 || strings.Trim(hw.String(), "0:") == "" {
		return ""
	}
	return hw.String()
}
