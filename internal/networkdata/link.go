package networkdata

import (
	"fmt"
	"slices"
)

// cards are the types of links that a machine sees as a card.
var cards = []string{"bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy"}

// modes are the modes of bonds, by the kernel's number (Documentation/networking/bonding.rst of Linux).
var modes = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}

// hashes are the ways a bond chooses the card for a packet.
var hashes = []string{"layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"}

const (
	minMTU, maxMTU = 68, 65535
	maxVLAN        = 4094
	monitor        = 100    // milliseconds, the usual pause between two looks at a bond's cards
	maxMonitor     = 60_000 // milliseconds
)

func (n *Network) addLink(o object) (err error) {
	l := Link{Kind: Card}
	address := "ethernet_mac_address"
	kind, err := o.text("type")
	if err != nil {
		return err
	}
	switch {
	case kind == "vlan":
		l.Kind, address = VLAN, "vlan_mac_address"
		if l.VLAN, err = o.number("vlan_id", 1, maxVLAN, 0); err == nil {
			l.Parent, err = o.text("vlan_link")
		}
	case kind == "bond":
		l.Kind = Bond
		err = l.bond(o)
	case !slices.Contains(cards, kind):
		err = fmt.Errorf("type: %q is not one of %v", kind, append([]string{"vlan", "bond"}, cards...))
	}
	if err != nil {
		return err
	}
	if l.ID, err = o.text("id"); err != nil {
		return err
	}
	if l.MAC, err = o.mac(address); err != nil {
		return err
	}
	if o["mtu"] != nil {
		if l.MTU, err = o.number("mtu", minMTU, maxMTU, 0); err != nil {
			return err
		}
	}
	n.Links = append(n.Links, l)
	return nil
}

func (l *Link) bond(o object) (err error) {
	if l.Mode, err = o.text("bond_mode"); err != nil {
		return err
	}
	if l.Mode == "802.1ad" { // so in Nova's specification
		l.Mode = "802.3ad"
	}
	if len(l.Mode) == 1 && l.Mode[0] >= '0' && int(l.Mode[0]-'0') < len(modes) {
		l.Mode = modes[l.Mode[0]-'0']
	}
	if !slices.Contains(modes, l.Mode) {
		return fmt.Errorf("bond_mode: %q is not one of %v", l.Mode, modes)
	}
	if o["bond_xmit_hash_policy"] != nil {
		if l.HashBy, err = o.text("bond_xmit_hash_policy"); err != nil {
			return err
		}
		if !slices.Contains(hashes, l.HashBy) {
			return fmt.Errorf("bond_xmit_hash_policy: %q is not one of %v", l.HashBy, hashes)
		}
	}
	if l.Monitor, err = o.number("bond_miimon", 0, maxMonitor, monitor); err != nil {
		return err
	}
	members, isList := o["bond_links"].([]any)
	if !isList {
		return fmt.Errorf("bond_links must be a list")
	}
	for _, m := range members {
		id, isText := m.(string)
		if !isText {
			return fmt.Errorf("bond_links must be a list of ids")
		}
		l.Members = append(l.Members, id)
	}
	return nil
}
