package netboot

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// poolLimit is the most addresses of a pool: those of a /16.
const poolLimit = 1 << 16

// Pool is a range of addresses of a network that the DHCP server gives out.
type Pool struct {
	First, Last netip.Addr // of IPv4, both are in the range
	Network     netip.Prefix
	Router      netip.Addr   // zero = none
	DNS         []netip.Addr // servers; none = none
}

// ParsePools parses ranges such as "10.0.0.100-10.0.0.200/24 router=10.0.0.1 dns=10.0.0.53". Two that overlap are an error.
func ParsePools(ranges []string) (all []Pool, err error) {
	for _, r := range ranges {
		p, err := parsePool(r)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", r, err)
		}
		for _, other := range all {
			if p.First.Compare(other.Last) <= 0 && other.First.Compare(p.Last) <= 0 {
				return nil, fmt.Errorf("%q overlaps %s-%s", r, other.First, other.Last)
			}
			if p.Network == other.Network {
				return nil, fmt.Errorf("%q is of the same network as %s-%s: want one range for each", r, other.First, other.Last)
			}
		}
		all = append(all, p)
	}
	return all, nil
}

func parsePool(s string) (p Pool, err error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return p, errors.New("want FIRST-LAST/BITS")
	}
	first, rest, found := strings.Cut(words[0], "-")
	last, bits, slash := strings.Cut(rest, "/")
	if !found || !slash {
		return p, errors.New("want FIRST-LAST/BITS, such as 10.0.0.100-10.0.0.200/24")
	}
	if p.First, err = netip.ParseAddr(first); err != nil {
		return p, err
	}
	if p.Last, err = netip.ParseAddr(last); err != nil {
		return p, err
	}
	if p.Network, err = netip.ParsePrefix(first + "/" + bits); err != nil {
		return p, err
	}
	p.Network = p.Network.Masked()
	switch {
	case !p.First.Is4() || !p.Last.Is4():
		return p, errors.New("want addresses of IPv4")
	case !p.Network.Contains(p.Last):
		return p, fmt.Errorf("%s is not in the network %s", p.Last, p.Network)
	case p.Last.Less(p.First):
		return p, fmt.Errorf("%s comes before %s", p.Last, p.First)
	case number(p.Last)-number(p.First) >= poolLimit:
		return p, fmt.Errorf("want at most %d addresses", poolLimit)
	}
	if err := p.checkEnds(); err != nil {
		return p, err
	}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		a, err := netip.ParseAddr(value)
		switch {
		case err != nil || !a.Is4():
			return p, fmt.Errorf("%q: want an address of IPv4", word)
		case name == "router" && !p.Router.IsValid():
			p.Router = a
		case name == "dns":
			p.DNS = append(p.DNS, a)
		default:
			return p, fmt.Errorf("%q: want router=ADDRESS once, or dns=ADDRESS", word)
		}
		if p.has(a) {
			return p, fmt.Errorf("%s is in the range: a server would get it", a)
		}
	}
	return p, nil
}

// has reports whether an address is given out.
func (p Pool) has(a netip.Addr) bool { return !a.Less(p.First) && !p.Last.Less(a) }

// checkEnds refuses the address of the network itself, and that of all its machines.
func (p Pool) checkEnds() error {
	if p.Network.Bits() >= 31 {
		return nil
	}
	broadcast := number(p.Network.Addr()) | 1<<(32-p.Network.Bits()) - 1
	if p.First == p.Network.Addr() || number(p.Last) == broadcast {
		return fmt.Errorf("the first and the last address of %s are of no machine", p.Network)
	}
	return nil
}

// CheckAddress refuses pools that have the address of the machine that gives them out.
func CheckAddress(all []Pool, address netip.Addr) error {
	for _, p := range all {
		if p.has(address) {
			return fmt.Errorf("%s is in %s-%s: a server would get it", address, p.First, p.Last)
		}
	}
	return nil
}

func number(a netip.Addr) int {
	b := a.As4()
	return int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3])
}
