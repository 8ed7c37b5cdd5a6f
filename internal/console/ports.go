package console

import (
	"errors"
	"fmt"
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

// Listen listens at the first port that is free, and that used does not have. The error wraps ErrNoPort if there is none.
func (p Ports) Listen(address netip.Addr, used map[int]bool) (net.Listener, error) {
	for port := p.First; port < p.End; port++ {
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
