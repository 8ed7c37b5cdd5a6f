package redfish

import (
	"context"

	"go.temper.dev/temper/internal/bmc"
)

type networkInterface struct {
	Links loose[struct{ NetworkAdapter link }]
}

type networkAdapter struct {
	NetworkDeviceFunctions link
	Ports                  link
	Status                 loose[status]
}

type networkDeviceFunction struct {
	BootMode      looseString
	DeviceEnabled loose[*bool]
	Ethernet      loose[struct{ MACAddress, PermanentMACAddress looseString }]
	Status        loose[status]
}

type networkPort struct {
	Ethernet loose[struct {
		AssociatedMACAddresses looseList[looseString]
		LLDPReceive            loose[lldp]
	}]
}

type lldp struct {
	ChassisID        looseString `json:"ChassisId"`
	PortID           looseString `json:"PortId"`
	SystemName       looseString
	ManagementVLANID looseNumber `json:"ManagementVlanId"`
}

// readAdapters sets what the network adapters tell of the interfaces: whether the server can boot from them, and what their ports
// receive by LLDP. If the system lists no interfaces at all, the adapters' functions are the interfaces.
func (in *inspection) readAdapters(ctx context.Context) error {
	paths, err := in.adapterPaths(ctx)
	if err != nil {
		return err
	}
	var adapters []networkAdapter
	if err := tryEach(ctx, in, bmc.PartNetwork, paths, func(a networkAdapter) {
		if !a.Status.v.absent() {
			adapters = append(adapters, a)
		}
	}); err != nil {
		return err
	}
	alone := len(in.inv.NICs) == 0
	for _, a := range adapters {
		functions, err := in.tryMembers(ctx, bmc.PartNetwork, a.NetworkDeviceFunctions)
		if err != nil {
			return err
		}
		if err := tryEach(ctx, in, bmc.PartNetwork, functions, func(f networkDeviceFunction) { in.addFunction(f, alone) }); err != nil {
			return err
		}
		ports, err := in.tryMembers(ctx, bmc.PartNetwork, a.Ports)
		if err != nil {
			return err
		}
		if err := tryEach(ctx, in, bmc.PartNetwork, ports, in.addPort); err != nil {
			return err
		}
	}
	return nil
}

// adapterPaths returns the paths of the adapters that the system links to, or that its chassis link to if the system links to none.
func (in *inspection) adapterPaths(ctx context.Context) ([]string, error) {
	interfaces, err := in.tryMembers(ctx, bmc.PartNetwork, in.sys.NetworkInterfaces)
	if err != nil {
		return nil, err
	}
	var paths []string
	err = tryEach(ctx, in, bmc.PartNetwork, interfaces, func(i networkInterface) {
		if at := i.Links.v.NetworkAdapter; at != "" {
			paths = append(paths, string(at))
		}
	})
	if err != nil || len(paths) > 0 {
		return paths, err
	}
	err = in.eachChassis(ctx, bmc.PartNetwork, func(c chassis) error {
		more, err := in.tryMembers(ctx, bmc.PartNetwork, c.NetworkAdapters)
		paths = append(paths, more...)
		return err
	})
	return paths, err
}

// addFunction sets what a function tells of its interface. create makes the interface if there is none.
func (in *inspection) addFunction(f networkDeviceFunction, create bool) {
	mac := parseMAC(string(f.Ethernet.v.MACAddress))
	if mac == "" {
		mac = parseMAC(string(f.Ethernet.v.PermanentMACAddress))
	}
	nic := in.nic(mac)
	if mac != "" && nic == nil && create && !f.Status.v.absent() && len(in.inv.NICs) < maxMembers {
		in.inv.NICs = append(in.inv.NICs, bmc.NIC{Name: mac, MAC: mac, Enabled: f.DeviceEnabled.v == nil || *f.DeviceEnabled.v})
		nic = &in.inv.NICs[len(in.inv.NICs)-1]
	}
	if nic == nil {
		return
	}
	switch f.BootMode {
	case "PXE", "HTTP":
		nic.NetworkBoot = bmc.NetworkBootYes
	case "Disabled", "iSCSI", "FibreChannel", "FibreChannelOverEthernet":
		if nic.NetworkBoot == bmc.NetworkBootUnknown {
			nic.NetworkBoot = bmc.NetworkBootNo
		}
	}
}

// addPort sets what a port receives by LLDP.
func (in *inspection) addPort(p networkPort) {
	got := p.Ethernet.v.LLDPReceive.v
	if got.ChassisID == "" && got.PortID == "" {
		return
	}
	for _, mac := range p.Ethernet.v.AssociatedMACAddresses {
		if nic := in.nic(parseMAC(string(mac))); nic != nil {
			nic.LLDP = &bmc.LLDP{ChassisID: got.ChassisID.short(), PortID: got.PortID.short(), SystemName: got.SystemName.short(), VLAN: vlan(got.ManagementVLANID)}
		}
	}
}

// vlan returns the number of a VLAN, 0 if there is none: LLDP sends 4095 for that.
func vlan(n looseNumber) int {
	if n > 4094 {
		return 0
	}
	return int(n)
}
