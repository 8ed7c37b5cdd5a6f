package dev

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

const (
	firstPort = 20000 // lower ports belong to well-known services
	lastPort  = 65535
	// leastPorts is how many ports there must be to choose from, so that two stacks rarely choose the same.
	leastPorts = 1000
	portTries  = 100
)

// freeAddress returns an address of host on which nobody listens, and for which unless is false. Its port is outside the
// range that the system uses for outgoing connections: one of those could take the port while the stack is stopped. If
// there is no such port, it returns port 0, which lets the system choose.
func freeAddress(host string, unless func(address string) bool) string {
	low, high := outgoingPorts()
	from, to := firstPort, low-1
	if to-from < leastPorts {
		from, to = high+1, lastPort
	}
	if to-from >= leastPorts {
		for range portTries {
			a := net.JoinHostPort(host, strconv.Itoa(from+rand.IntN(to-from+1)))
			if !unless(a) && isFree(a) {
				return a
			}
		}
	}
	return net.JoinHostPort(host, "0")
}

// outgoingPorts returns the range from which the system takes ports for outgoing connections.
func outgoingPorts() (low, high int) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, err = fmt.Sscan(string(b), &low, &high)
	}
	if err != nil {
		return 32768, lastPort // covers the default ranges of Linux and other systems
	}
	return low, high
}

// isFree reports whether the address can be listened on at the moment.
func isFree(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	return l.Close() == nil
}
