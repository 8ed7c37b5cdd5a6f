package lldp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// groups are the addresses to which switches send LLDP: of the nearest bridge, the nearest one that is no TPMR, and the nearest customer's.
var groups = [][]byte{{0x01, 0x80, 0xc2, 0, 0, 0x0e}, {0x01, 0x80, 0xc2, 0, 0, 0x03}, {0x01, 0x80, 0xc2, 0, 0, 0x00}}

// look is how long one look for a frame waits, so that the end of ctx is seen.
const look = 200 * time.Millisecond

// Listen waits until a frame has come to each of the interfaces, or ctx ends, and returns the first of each by the interface's name. One
// that can't be listened on is in the error; the others are returned all the same.
func Listen(ctx context.Context, names []string) (map[string][]TLV, error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	out, problems := map[string][]TLV{}, []error{}
	for _, name := range names {
		all.Go(func() {
			found, err := listen(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problems = append(problems, fmt.Errorf("listen for LLDP on %s: %w", name, err))
			}
			if found != nil {
				out[name] = found
			}
		})
	}
	all.Wait()
	return out, errors.Join(problems...)
}

func listen(ctx context.Context, name string) ([]TLV, error) {
	link, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	const protocol = etherType>>8 | etherType&0xff<<8 // in the order of bytes of a network
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: link.Index}); err != nil {
		return nil, err
	}
	for _, group := range groups {
		member := unix.PacketMreq{Ifindex: int32(link.Index), Type: unix.PACKET_MR_MULTICAST, Alen: uint16(len(group))} //nolint:gosec // the kernel's number
		copy(member.Address[:], group)
		if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &member); err != nil {
			return nil, err
		}
	}
	frame := make([]byte, 2048)
	for ctx.Err() == nil {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(look.Milliseconds())); err != nil && !errors.Is(err, unix.EINTR) { //nolint:gosec // a small number
			return nil, err
		} else if n < 1 {
			continue
		}
		n, from, err := unix.Recvfrom(fd, frame, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype == unix.PACKET_OUTGOING {
			continue // of this machine
		}
		if found, err := Parse(frame[:n]); err == nil {
			return found, nil
		}
	}
	return nil, nil
}
