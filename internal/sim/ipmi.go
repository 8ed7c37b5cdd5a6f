package sim

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"go.temper.dev/temper/internal/sim/ipmi"
)

// listenIPMI opens a UDP port for each BMC, on the host of beside: that of the last start if it
// is free, so that nodes that were enrolled then can still be reached.
func (r *Rack) listenIPMI(beside net.Listener, now *savedAddresses) error {
	if !r.cfg.IPMI {
		return nil
	}
	listen, _, err := net.SplitHostPort(beside.Addr().String())
	if err != nil {
		return err
	}
	r.addr.ipmiHost, _, _ = net.SplitHostPort(r.host(beside)) // it has both
	r.addr.ipmiPorts, r.fronts = map[string]int{}, map[string]*ipmi.Front{}
	for _, s := range r.servers {
		conn, err := listenPacket(listen, r.store.rack.Addresses.IPMI[s.Name])
		if err != nil {
			return fmt.Errorf("IPMI of %s (the setting rack_ipmi switches it off): %w", s.Name, err)
		}
		front, err := r.ipmi.Front(s, conn)
		if err != nil {
			_ = conn.Close()
			return fmt.Errorf("IPMI of %s: %w", s.Name, err)
		}
		r.fronts[s.Name], r.addr.ipmiPorts[s.Name] = front, conn.LocalAddr().(*net.UDPAddr).Port
	}
	now.IPMI = r.addr.ipmiPorts
	return nil
}

// listenPacket listens on the port, or on any if it is taken or 0.
func listenPacket(host string, port int) (net.PacketConn, error) {
	conn, err := net.ListenPacket("udp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil && port != 0 {
		conn, err = net.ListenPacket("udp", net.JoinHostPort(host, "0"))
	}
	return conn, err
}

// startIPMI lets the fronts answer until closeIPMI.
func (r *Rack) startIPMI() {
	for _, f := range r.fronts {
		r.answering.Go(func() { f.Serve(context.Background()) })
	}
}

func (r *Rack) closeIPMI() {
	for _, f := range r.fronts {
		f.Close()
	}
	r.answering.Wait()
}
