package console

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// Ports are TCP ports from First to before End.
type Ports struct{ First, End int }

// Count returns how many ports there are.
func (p Ports) Count() int { return p.End - p.First }

// String returns the ports as the setting console.port_range has them.
func (p Ports) String() string { return fmt.Sprintf("%d:%d", p.First, p.End) }

// ErrNoPort is wrapped by the error of Listen if no port of a range is free.
var ErrNoPort = errors.New("no port is free")

// Listen listens at a port that is free, and that used does not have. It prefers the same port for the same name, so that those of
// different servers are seldom mistaken for each other. The error wraps ErrNoPort if none is free.
func (p Ports) Listen(address netip.Addr, name string, used map[int]bool) (net.Listener, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	for i := range p.Count() {
		port := p.First + (int(h.Sum32()%uint32(p.Count()))+i)%p.Count() //nolint:gosec // there are at most 65535
		if used[port] {
			continue
		}
		l, err := listen(address, port)
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EACCES) {
			return l, err
		}
	}
	return nil, fmt.Errorf("%w at %s in console.port_range %s: other consoles or other programs have all %d", ErrNoPort, address, p, p.Count())
}

// ListenAt listens at one port.
func ListenAt(address netip.Addr, port int) (net.Listener, error) { return listen(address, port) }

func listen(address netip.Addr, port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort(address.String(), strconv.Itoa(port))) //nolint:noctx // it does not block
}
