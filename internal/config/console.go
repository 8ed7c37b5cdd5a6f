package config

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Console says where a conductor listens for the clients of serial consoles, with the names of Ironic's section.
type Console struct {
	SocatAddress    string        `key:"socat_address" default:"127.0.0.1" help:"IP address at which it listens for clients of serial consoles, and which console_info tells them; nobody has to log in there, so on more than loopback only a network of operators may reach it"`
	PortRange       string        `key:"port_range" default:"10000:11000" help:"TCP ports for serial consoles as START:STOP, without STOP; no more consoles than ports are held at once, besides those of nodes with ipmi_terminal_port"`
	TerminalTimeout time.Duration `key:"terminal_timeout" default:"10m" help:"after which time without a byte in either direction a client of a serial console is disconnected; 0 = never"`
}

// Ports returns the range of ports; end is not a part of it. The error says what would be right.
func (c Console) Ports() (first, end int, err error) {
	a, b, ok := strings.Cut(c.PortRange, ":")
	first, err1 := strconv.Atoi(a)
	end, err2 := strconv.Atoi(b)
	if !ok || err1 != nil || err2 != nil || first < 1 || end > 65536 || first >= end {
		return 0, 0, errors.New("want START:STOP, such as 10000:11000, with ports from 1 to 65535")
	}
	return first, end, nil
}

func (c Console) check(p *problems) {
	if a, err := netip.ParseAddr(c.SocatAddress); err != nil || a.IsUnspecified() || a.Zone() != "" {
		p.refuse("console.socat_address", "want the IP address at which clients reach this conductor, such as 127.0.0.1")
	}
	if _, _, err := c.Ports(); err != nil {
		p.refuse("console.port_range", "%w", err)
	}
	p.requireNotNegative("console.terminal_timeout", c.TerminalTimeout)
}
