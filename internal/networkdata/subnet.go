package networkdata

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

func (n *Network) addSubnet(o object) (err error) {
	s := Subnet{}
	for _, name := range []string{"id", "network_id"} { // which nothing reads
		if _, err := o.text(name); err != nil {
			return err
		}
	}
	if s.Link, err = o.text("link"); err != nil {
		return err
	}
	kind, err := o.text("type")
	if err != nil {
		return err
	}
	switch kind {
	case "ipv4", "ipv6":
		s.Method = Static
		s.Address, err = o.prefix("ip_address", kind == "ipv6")
	case "ipv4_dhcp":
		s.Method = DHCP
	case "ipv6_dhcp", "ipv6_slaac", "ipv6_dhcpv6-stateful", "ipv6_dhcpv6-stateless":
		s.Method = Router
	default:
		err = fmt.Errorf("type: %q is not one of ipv4, ipv4_dhcp, ipv6, ipv6_dhcp, ipv6_slaac", kind)
	}
	if err != nil {
		return err
	}
	if err := o.each("routes", s.addRoute); err != nil {
		return err
	}
	if o["gateway"] != nil { // as cloud-init reads it, too
		gateway, err := o.address("gateway")
		if err != nil {
			return err
		}
		s.Routes = append(s.Routes, Route{To: everywhere(gateway), Via: gateway})
	}
	if err := o.each("services", func(o object) error { return o.server(&s.DNS) }); err != nil {
		return err
	}
	n.Subnets = append(n.Subnets, s)
	return nil
}

func everywhere(like netip.Addr) netip.Prefix {
	if like.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

func (s *Subnet) addRoute(o object) (err error) {
	r := Route{}
	if r.Via, err = o.address("gateway"); err != nil {
		return err
	}
	if r.To, err = o.prefix("network", r.Via.Is6()); err != nil {
		return err
	}
	r.To = r.To.Masked()
	s.Routes = append(s.Routes, r)
	return nil
}

// prefix reads an address with the length of its prefix, as 192.0.2.7/24 or with a netmask, which is a mask or a length. Without one
// the address is alone in its network.
func (o object) prefix(name string, six bool) (netip.Prefix, error) {
	s, err := o.text(name)
	if err != nil {
		return netip.Prefix{}, err
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		a, err := o.address(name)
		if err != nil {
			return netip.Prefix{}, err
		}
		bits := a.BitLen()
		if o["netmask"] != nil {
			if bits, err = o.maskLength(a.BitLen()); err != nil {
				return netip.Prefix{}, err
			}
		}
		p = netip.PrefixFrom(a, bits)
	}
	if p.Addr().Is6() != six {
		return netip.Prefix{}, fmt.Errorf("%s: %q is an address of another version of IP", name, s)
	}
	return p, nil
}

// maskLength reads the netmask, which is a mask such as 255.255.255.0 or ffff:ffff:: or the number of its bits.
func (o object) maskLength(most int) (int, error) {
	s, isText := o["netmask"].(string)
	if !isText {
		return o.number("netmask", 0, int64(most), 0)
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n <= most {
		return n, nil
	}
	mask, err := netip.ParseAddr(s)
	if err != nil || mask.BitLen() != most {
		return 0, fmt.Errorf("netmask: %q is no netmask", s)
	}
	ones, all := net.IPMask(mask.AsSlice()).Size() // 0, 0 if it isn't ones and then zeros
	if all == 0 {
		return 0, fmt.Errorf("netmask: %q is no netmask", s)
	}
	return ones, nil
}
