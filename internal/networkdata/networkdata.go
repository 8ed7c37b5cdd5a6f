// Package networkdata reads a network_data.json: the links, networks and services of one machine, as OpenStack's metadata service
// describes them (Nova's doc/api_schemas/network_data.json, which Ironic checks a node's network_data with).
package networkdata

import (
	"fmt"
	"net/netip"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Network is the network of one machine.
type Network struct {
	Links   []Link
	Subnets []Subnet
	DNS     []netip.Addr // of the whole machine
}

// Kind is what a link is made of.
type Kind string

// The kinds of links. All that the schema knows beside bonds and VLANs are cards of the machine that sees them.
const (
	Card Kind = "card"
	Bond Kind = "bond"
	VLAN Kind = "vlan"
)

// Link is a card of a machine, or what is made of links.
type Link struct {
	ID   string
	Kind Kind
	MAC  string // lower case, with colons
	MTU  int    // 0 = what the kernel takes

	Members []string // ids of a bond's cards
	Mode    string   // of a bond, by the kernel's name, such as 802.3ad
	HashBy  string   // xmit_hash_policy of a bond, such as layer3+4; "" = the kernel's
	Monitor int      // miimon of a bond: milliseconds between two looks at its cards; 0 = none

	VLAN   int    // 1 to 4094
	Parent string // id of the card or bond of a VLAN
}

// Method is how a link comes to an address.
type Method string

// The methods.
const (
	Static Method = "static"
	DHCP   Method = "dhcp"
	// Router is an address that the machine makes itself from what a router announces (SLAAC), or by DHCPv6.
	Router Method = "router"
)

// Subnet is a network that a link is in. One link may be in several.
type Subnet struct {
	Link    string // id
	Method  Method
	Address netip.Prefix // the machine's address and the length of the network's prefix; only of Static
	Routes  []Route
	DNS     []netip.Addr
}

// Route is a way to other networks.
type Route struct {
	To  netip.Prefix // 0.0.0.0/0 or ::/0 = the default route
	Via netip.Addr
}

// ParseJSON reads the content of a network_data.json.
func ParseJSON(b []byte) (*Network, error) {
	var data map[string]any
	if err := jsonvalue.Unmarshal(b, &data); err != nil {
		return nil, err
	}
	return Parse(data)
}

// Parse reads the decoded content of a network_data.json. The error names the place of the first thing that it can't read.
func Parse(data map[string]any) (*Network, error) {
	n := &Network{}
	for _, list := range []struct {
		name string
		add  func(object) error
	}{{"links", n.addLink}, {"networks", n.addSubnet}, {"services", func(o object) error { return o.server(&n.DNS) }}} {
		if _, given := data[list.name]; !given {
			return nil, fmt.Errorf("'%s' is a required property", list.name)
		}
		if err := object(data).each(list.name, list.add); err != nil {
			return nil, err
		}
	}
	return n, n.check()
}

// check refuses what names a link that is not there.
func (n *Network) check() error {
	links := map[string]Link{}
	for i, l := range n.Links {
		if _, twice := links[l.ID]; twice {
			return fmt.Errorf("links[%d]: the id %q is that of two links", i, l.ID)
		}
		links[l.ID] = l
	}
	for i, l := range n.Links {
		for _, m := range l.Members {
			if links[m].Kind != Card {
				return fmt.Errorf("links[%d]: bond_links: %q is not the id of a card", i, m)
			}
		}
		if parent := links[l.Parent].Kind; l.Kind == VLAN && parent != Card && parent != Bond {
			return fmt.Errorf("links[%d]: vlan_link: %q is not the id of a card or a bond", i, l.Parent)
		}
	}
	for i, s := range n.Subnets {
		if _, there := links[s.Link]; !there {
			return fmt.Errorf("networks[%d]: link: %q is not the id of a link", i, s.Link)
		}
	}
	return nil
}
