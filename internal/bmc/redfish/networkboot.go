package redfish

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/bmc"
)

// readNetworkBoot sets from which interfaces the server can boot, if their adapters have not told it: by Dell's attributes of the BIOS,
// or by the boot options of UEFI, which name the interfaces that the firmware can boot from.
func (in *inspection) readNetworkBoot(ctx context.Context) error {
	if in.inv.BootMode == bmc.ModeBIOS {
		return nil
	}
	if in.quirks.pxeAttributes {
		return in.readPXEAttributes(ctx)
	}
	for _, n := range in.inv.NICs {
		if n.NetworkBoot != bmc.NetworkBootUnknown {
			return nil
		}
	}
	paths, err := in.tryMembers(ctx, bmc.PartNetwork, in.sys.Boot.v.Options)
	if err != nil {
		return err
	}
	var named []*bmc.NIC
	err = tryEach(ctx, in, bmc.PartNetwork, paths, func(o bootOption) {
		if nic := in.nic(o.mac()); nic != nil {
			named = append(named, nic)
		}
	})
	in.setNetworkBoot(named)
	return err
}

// setNetworkBoot notes that the server can boot from these interfaces and from no other. If there are none, nothing is known.
func (in *inspection) setNetworkBoot(can []*bmc.NIC) {
	if len(can) == 0 {
		return
	}
	for i := range in.inv.NICs {
		in.inv.NICs[i].NetworkBoot = bmc.NetworkBootNo
	}
	for _, nic := range can {
		nic.NetworkBoot = bmc.NetworkBootYes
	}
}

type bootOption struct {
	UEFIDevicePath looseString `json:"UefiDevicePath"`
}

// macNode is the node of a UEFI device path that has an interface's address (UEFI specification, 10.6, text representation).
var macNode = regexp.MustCompile(`(?i)\bMAC\(([0-9a-f]{12})[,0)]`)

// mac returns the address of the interface that the option boots from, "" if it boots from something else.
func (o bootOption) mac() string {
	found := macNode.FindStringSubmatch(string(o.UEFIDevicePath))
	if found == nil {
		return ""
	}
	var pairs []string
	for d := found[1]; d != ""; d = d[2:] {
		pairs = append(pairs, d[:2])
	}
	return parseMAC(strings.Join(pairs, ":"))
}

type biosAttributes struct {
	Attributes loose[map[string]looseString]
}

// pxeDevices is how many devices of each kind Dell's BIOS has.
const pxeDevices = 4

func (in *inspection) readPXEAttributes(ctx context.Context) error {
	var b biosAttributes
	ok, err := tryRead(ctx, in, bmc.PartNetwork, string(in.sys.BIOS), &b)
	if !ok {
		return err
	}
	var enabled []*bmc.NIC
	for _, kind := range []string{"PxeDev", "HttpDev"} {
		for i := range pxeDevices {
			device := kind + strconv.Itoa(i+1)
			if nic := in.nicNamed(string(b.Attributes.v[device+"Interface"])); nic != nil && b.Attributes.v[device+"EnDis"] == "Enabled" {
				enabled = append(enabled, nic)
			}
		}
	}
	in.setNetworkBoot(enabled)
	return nil
}

type switchConnection struct {
	FQDD                   looseString
	SwitchConnectionID     looseString
	SwitchPortConnectionID looseString
}

// readSwitches sets what Dell's interfaces receive by LLDP. The members of that collection are whole resources.
func (in *inspection) readSwitches(ctx context.Context) error {
	if !in.quirks.switchConnections {
		return nil
	}
	var c struct {
		Members looseList[switchConnection]
	}
	ok, err := tryRead(ctx, in, bmc.PartNetwork, in.path+"/NetworkPorts/Oem/Dell/DellSwitchConnections", &c)
	if !ok {
		return err
	}
	for _, m := range c.Members {
		nic := in.nicNamed(m.FQDD.stored())
		if nic == nil || !m.connected() {
			continue
		}
		nic.LLDP = &bmc.LLDP{ChassisID: m.SwitchConnectionID.short(), PortID: m.SwitchPortConnectionID.short()}
	}
	return nil
}

func (c switchConnection) connected() bool {
	for _, v := range []looseString{c.SwitchConnectionID, c.SwitchPortConnectionID} {
		if v == "" || v == "No Link" || v == "Not Available" {
			return false
		}
	}
	return true
}
