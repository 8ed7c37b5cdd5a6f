//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"go.temper.dev/temper/internal/networkdata"
)

// Times of DHCP. A switch that looks for loops (STP) forwards nothing for up to 50 s after a link came up: so the tries go on.
const (
	dhcpTry        = 10 * time.Second
	dhcpPause      = 3 * time.Second
	carrierPause   = time.Second
	leaseOtherwise = time.Hour // of a server that does not say how long
)

// network brings up all network cards, those that come later too. On each that has a link it asks for an address by DHCP, unless the
// boot's medium says what the server's network is.
type network struct {
	mu      sync.Mutex
	known   map[int]bool     // cards, by index
	decided bool             // whether it is known what the medium says
	given   *given           // what it says; nil = nothing
	dns     map[int][]net.IP // by interface
}

func startNetwork() (*network, error) {
	n := &network{known: map[int]bool{}, dns: map[int][]net.IP{}}
	updates := make(chan netlink.LinkUpdate, 64)
	// ListExisting: those that are there come as the first updates.
	err := netlink.LinkSubscribeWithOptions(updates, nil, netlink.LinkSubscribeOptions{
		ListExisting: true, ErrorCallback: func(err error) { fmt.Println("network:", err) },
	})
	if err != nil {
		return nil, fmt.Errorf("listen for network cards: %w", err)
	}
	go func() {
		for u := range updates {
			if u.Header.Type == unix.RTM_NEWLINK {
				n.add(u.Link)
			}
		}
	}()
	return n, nil
}

// add brings a card up, so that it has a link when its addresses are known.
func (n *network) add(link netlink.Link) {
	a := link.Attrs()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known[a.Index] || link.Type() != "device" {
		return
	}
	n.known[a.Index] = true
	if err := netlink.LinkSetUp(link); err != nil {
		fmt.Printf("%s: bring it up: %v\n", a.Name, err)
	}
	if a.Flags&net.FlagLoopback != 0 {
		return
	}
	fmt.Printf("%s: network card %s\n", a.Name, a.HardwareAddr)
	if n.decided {
		n.settle(link)
	}
}

// follow gives all cards their addresses, as the content of a network_data.json says, or by DHCP if it is nil or can't be read.
func (n *network) follow(networkData []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.decided = true
	if networkData != nil {
		parsed, err := networkdata.ParseJSON(networkData)
		if err != nil {
			fmt.Printf("network_data: %v; every card asks by DHCP\n", err)
		} else {
			n.given = newGiven(parsed)
		}
	}
	links, err := netlink.LinkList()
	if err != nil {
		fmt.Printf("list the network cards: %v\n", err)
	}
	for _, link := range links {
		if n.known[link.Attrs().Index] && link.Attrs().Flags&net.FlagLoopback == 0 {
			n.settle(link)
		}
	}
}

// settle gives a card its addresses. The caller holds the lock.
func (n *network) settle(link netlink.Link) {
	if n.given == nil {
		go n.configure(link)
		return
	}
	n.build(link)
}

// configure gives a network card an address, for as long as it is there.
func (n *network) configure(link netlink.Link) {
	name := link.Attrs().Name
	told := ""
	for {
		carrier, err := os.ReadFile(filepath.Join("/sys/class/net", name, "carrier"))
		if os.IsNotExist(err) {
			n.mu.Lock()
			delete(n.known, link.Attrs().Index)
			n.mu.Unlock()
			fmt.Printf("%s: is gone\n", name)
			return
		}
		if err != nil || !bytes.HasPrefix(carrier, []byte("1")) {
			time.Sleep(carrierPause)
			continue
		}
		if err := n.hold(link); err != nil && err.Error() != told {
			told = err.Error()
			fmt.Printf("%s: DHCP: %v; the tries go on\n", name, err)
		}
		time.Sleep(dhcpPause)
	}
}

// hold gets a lease and renews it. It returns when there is none any more.
func (n *network) hold(link netlink.Link) error {
	client, err := nclient4.New(link.Attrs().Name, nclient4.WithTimeout(dhcpTry/2), nclient4.WithRetry(2))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*dhcpTry)
	lease, err := client.Request(ctx)
	cancel()
	if err != nil {
		return err
	}
	for {
		ack := lease.ACK
		if err := n.use(link, ack); err != nil {
			return err
		}
		whole := ack.IPAddressLeaseTime(leaseOtherwise)
		end := time.Now().Add(whole)
		time.Sleep(ack.IPAddressRenewalTime(whole / 2))
		for {
			ctx, cancel := context.WithDeadline(context.Background(), end)
			renewed, err := client.Renew(ctx, lease)
			cancel()
			if err == nil {
				lease = renewed
				break
			}
			if !time.Now().Before(end) {
				return fmt.Errorf("the lease of %s has ended: %w", ack.YourIPAddr, err)
			}
			time.Sleep(dhcpPause)
		}
	}
}

// use gives a network card the address, the routes and the name servers of a lease.
func (n *network) use(link netlink.Link, ack *dhcpv4.DHCPv4) error {
	mask := ack.SubnetMask()
	if mask == nil {
		mask = ack.YourIPAddr.DefaultMask()
	}
	address := &net.IPNet{IP: ack.YourIPAddr, Mask: mask}
	have, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("read the addresses: %w", err)
	}
	there := false
	for _, a := range have {
		if a.IPNet.String() == address.String() {
			there = true
		} else if err := netlink.AddrDel(link, &a); err != nil {
			return fmt.Errorf("give up %s: %w", a.IPNet, err)
		}
	}
	if !there {
		if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: address}); err != nil {
			return fmt.Errorf("take %s: %w", address, err)
		}
		fmt.Printf("%s: has %s from %s\n", link.Attrs().Name, address, ack.ServerIdentifier())
	}
	if routers := ack.Router(); len(routers) > 0 { // the first one is preferred (RFC 2132, 3.5)
		// One that a second card has, too, gets another metric, so that both routes stand.
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Gw: routers[0], Priority: 100 + link.Attrs().Index}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("route by %s: %w", routers[0], err)
		}
	}
	return n.names(link.Attrs().Index, ack.DNS())
}

// names writes the name servers of all leases into resolv.conf(5).
func (n *network) names(index int, servers []net.IP) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.writeNames(index, servers)
}

// writeNames is names for a caller that holds the lock.
func (n *network) writeNames(index int, servers []net.IP) error {
	n.dns[index] = servers
	var b bytes.Buffer
	for _, list := range n.dns {
		for _, server := range list {
			fmt.Fprintf(&b, "nameserver %s\n", server)
		}
	}
	return os.WriteFile("/etc/resolv.conf", b.Bytes(), 0o644)
}
