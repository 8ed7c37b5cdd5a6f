//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"go.temper.dev/temper/internal/networkdata"
)

// given is a network that somebody has described. Its parts are built as the cards come that they need. A card that it doesn't name
// gets no address: it may be in a network where the server must not show itself.
type given struct {
	*networkdata.Network
	devices map[string]netlink.Link // by the link's id; those that are there
}

func newGiven(n *networkdata.Network) *given {
	return &given{Network: n, devices: map[string]netlink.Link{}}
}

// build adds a card, and what can be built now that it is there: bonds before the VLANs on them. The caller holds the lock.
func (n *network) build(card netlink.Link) {
	g := n.given
	fresh := g.take(card)
	if len(fresh) == 0 {
		fmt.Printf("%s: network_data does not name %s, and it gets no address\n", card.Attrs().Name, card.Attrs().HardwareAddr)
	}
	for i, l := range g.Links {
		var made netlink.Link
		var err error
		switch {
		case l.Kind == networkdata.Bond && slices.ContainsFunc(l.Members, func(id string) bool { return slices.Contains(fresh, id) }):
			made, err = g.join(i, card)
		case l.Kind == networkdata.VLAN && slices.Contains(fresh, l.Parent):
			made, err = g.tag(i)
		}
		if err != nil {
			fmt.Printf("network_data: %s: %v\n", l.ID, err)
		}
		if made != nil {
			g.devices[l.ID] = made
			fresh = append(fresh, l.ID)
		}
	}
	for _, s := range g.Subnets {
		if slices.Contains(fresh, s.Link) {
			if err := n.enter(g.devices[s.Link], s); err != nil {
				fmt.Printf("network_data: %s: %v\n", s.Link, err)
			}
		}
	}
}

// take returns the ids of the links that are the card.
func (g *given) take(card netlink.Link) (ids []string) {
	mac := card.Attrs().HardwareAddr.String()
	if own := card.Attrs().PermHWAddr; len(own) > 0 { // in a bond it has the bond's
		mac = own.String()
	}
	for _, l := range g.Links {
		if l.Kind != networkdata.Card || l.MAC != mac {
			continue
		}
		if err := resize(card, l); err != nil {
			fmt.Printf("network_data: %s: %v\n", l.ID, err)
		}
		g.devices[l.ID] = card
		ids = append(ids, l.ID)
	}
	return ids
}

func resize(device netlink.Link, l networkdata.Link) error {
	if l.MTU == 0 {
		return nil
	}
	if err := netlink.LinkSetMTU(device, l.MTU); err != nil {
		return fmt.Errorf("set the MTU %d: %w", l.MTU, err)
	}
	return nil
}

// join puts a card into the bond that is the link i. It returns the bond if this is its first card.
func (g *given) join(i int, card netlink.Link) (made netlink.Link, err error) {
	l := g.Links[i]
	device := g.devices[l.ID]
	if device == nil {
		bond := netlink.NewLinkBond(attributes(fmt.Sprintf("bond%d", i), l))
		bond.Mode, bond.Miimon = netlink.StringToBondMode(l.Mode), l.Monitor
		if l.HashBy != "" {
			bond.XmitHashPolicy = netlink.StringToBondXmitHashPolicy(l.HashBy)
		}
		if made, err = create(bond); err != nil {
			return nil, err
		}
		device = made
	}
	// The kernel takes in only cards that are down, and brings them up itself.
	err = errors.Join(netlink.LinkSetDown(card), netlink.LinkSetMasterByIndex(card, device.Attrs().Index), netlink.LinkSetUp(card))
	if err != nil {
		return made, fmt.Errorf("take in %s: %w", card.Attrs().Name, err)
	}
	fmt.Printf("%s: is in the bond %s (%s)\n", card.Attrs().Name, device.Attrs().Name, l.Mode)
	return made, nil
}

// tag makes the VLAN that is the link i.
func (g *given) tag(i int) (netlink.Link, error) {
	l := g.Links[i]
	parent := g.devices[l.Parent].Attrs()
	a := attributes(fmt.Sprintf("vlan%d.%d", i, l.VLAN), l)
	a.ParentIndex = parent.Index
	made, err := create(&netlink.Vlan{LinkAttrs: a, VlanId: l.VLAN, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q})
	if err == nil {
		fmt.Printf("%s: is the VLAN %d of %s\n", made.Attrs().Name, l.VLAN, parent.Name)
	}
	return made, err
}

func attributes(name string, l networkdata.Link) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name, a.MTU = name, l.MTU
	a.HardwareAddr, _ = net.ParseMAC(l.MAC) // it was parsed before
	return a
}

// create makes a device and brings it up. One of the name is left from a process before this one, and is made anew.
func create(device netlink.Link) (netlink.Link, error) {
	name := device.Attrs().Name
	if old, err := netlink.LinkByName(name); err == nil {
		if err := netlink.LinkDel(old); err != nil {
			return nil, fmt.Errorf("remove the old %s: %w", name, err)
		}
	}
	if err := netlink.LinkAdd(device); err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	made, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(made)
	}
	if err != nil {
		return nil, fmt.Errorf("bring %s up: %w", name, err)
	}
	return made, nil
}

// enter gives a device what it has in a network. The caller holds the lock.
func (n *network) enter(device netlink.Link, s networkdata.Subnet) error {
	index, name := device.Attrs().Index, device.Attrs().Name
	switch s.Method {
	case networkdata.DHCP:
		go n.configure(device)
	case networkdata.Router: // the kernel does it for every link that is up
	case networkdata.Static:
		// Nobody else has it: without IFA_F_NODAD an IPv6 address could not be used for the first second.
		address := &netlink.Addr{IPNet: ipNet(s.Address), Flags: unix.IFA_F_NODAD}
		if s.Address.Addr().Is4() {
			address.Flags = 0
		}
		if err := netlink.AddrReplace(device, address); err != nil {
			return fmt.Errorf("take %s: %w", s.Address, err)
		}
		fmt.Printf("%s: has %s from network_data\n", name, s.Address)
	}
	for _, r := range s.Routes {
		// A gateway outside of the address's own network is on the link, too.
		route := &netlink.Route{LinkIndex: index, Dst: ipNet(r.To), Gw: r.Via.AsSlice(), Flags: int(netlink.FLAG_ONLINK)}
		if s.Address.Contains(r.Via) {
			route.Flags = 0
		}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("route to %s by %s: %w", r.To, r.Via, err)
		}
	}
	if servers := append(slices.Clone(s.DNS), n.given.DNS...); len(servers) > 0 {
		return n.writeNames(index, ips(servers))
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func ips(addresses []netip.Addr) (all []net.IP) {
	for _, a := range addresses {
		all = append(all, a.AsSlice())
	}
	return all
}
