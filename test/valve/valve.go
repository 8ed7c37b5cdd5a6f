// Package valve is a relay between one process and a service that it needs, so that a test can cut off this process alone:
// silently, like a network failure, or with resets.
package valve

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// state says what a valve does with connections.
type state int

const (
	open     state = iota
	holding        // nothing passes; what was sent is kept, as TCP keeps it, and passes later
	refusing       // every connection is reset
)

// Valve relays TCP connections to one address. It is open at first; all methods may be used at the same time.
type Valve struct {
	listener net.Listener
	to       string
	served   sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond // state or closed is another
	state   state
	closed  bool
	conns   map[net.Conn]bool
	passed  int64
	last    time.Time
}

// New listens on a free port of the loopback and relays to an address, host:port.
func New(to string) (*Valve, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	v := &Valve{listener: l, to: to, conns: map[net.Conn]bool{}}
	v.changed = sync.NewCond(&v.mu)
	v.served.Go(v.serve)
	return v, nil
}

// Address returns the host:port that the process uses as the service's.
func (v *Valve) Address() string { return v.listener.Addr().String() }

// Hold lets nothing pass in either direction. Connections stay open, and new ones can be made. What was sent meanwhile passes
// when the valve is opened, unless the sender has closed the connection.
func (v *Valve) Hold() { v.set(holding) }

// Reset breaks all connections, and every new one at once.
func (v *Valve) Reset() { v.set(refusing) }

// Open lets everything pass again.
func (v *Valve) Open() { v.set(open) }

// Passed returns how many bytes have passed from the process to the service, and when the last of them did.
func (v *Valve) Passed() (int64, time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.passed, v.last
}

// Close ends the valve and all its connections.
func (v *Valve) Close() error {
	v.mu.Lock()
	v.closed = true
	v.changed.Broadcast()
	for c := range v.conns {
		reset(c)
	}
	v.mu.Unlock()
	err := v.listener.Close()
	v.served.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (v *Valve) set(s state) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state = s
	if s == refusing {
		for c := range v.conns {
			reset(c)
		}
	}
	v.changed.Broadcast()
}

// passes waits while the valve holds; false = this connection is to end.
func (v *Valve) passes() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for v.state == holding && !v.closed {
		v.changed.Wait()
	}
	return v.state == open && !v.closed
}

func (v *Valve) serve() {
	for {
		c, err := v.listener.Accept()
		if err != nil {
			return
		}
		if !v.keep(c) {
			continue
		}
		v.served.Go(func() { v.relay(c) })
	}
}

// keep records a connection, so that it can be reset. If the valve refuses connections or is closed, it is reset at once.
func (v *Valve) keep(c net.Conn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed || v.state == refusing {
		reset(c)
		return false
	}
	v.conns[c] = true
	return true
}

func (v *Valve) drop(c net.Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.conns, c)
	_ = c.Close() // it is over either way
}

// relay connects the process with the service until one of them ends it.
func (v *Valve) relay(near net.Conn) {
	defer v.drop(near)
	if !v.passes() {
		reset(near)
		return
	}
	far, err := net.DialTimeout("tcp", v.to, 10*time.Second)
	if err != nil {
		reset(near) // like a service that does not run
		return
	}
	if !v.keep(far) {
		reset(near)
		return
	}
	defer v.drop(far)
	var both sync.WaitGroup
	both.Go(func() { v.pump(far, near, true) })
	both.Go(func() { v.pump(near, far, false) })
	both.Wait()
}

// pump passes what it reads, and the end of it, once the valve lets it.
func (v *Valve) pump(to, from net.Conn, count bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !v.passes() || broken(err) || givenUp(from) {
			reset(to)
			reset(from)
			return
		}
		if n > 0 {
			if count {
				v.count(n)
			}
			if _, err := to.Write(buf[:n]); err != nil {
				reset(from)
				return
			}
		}
		if err != nil { // the end of what is sent in this direction
			if tcp, ok := to.(*net.TCPConn); ok {
				_ = tcp.CloseWrite() // the other direction may go on
			}
			return
		}
	}
}

func (v *Valve) count(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.passed += int64(n)
	v.last = time.Now()
}

// givenUp reports whether the other side has broken the connection meanwhile: what it sent before is lost then.
func givenUp(c net.Conn) bool {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return true // closed here
	}
	var pending int
	if err := raw.Control(func(fd uintptr) {
		pending, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
	}); err != nil {
		return true
	}
	return err != nil || pending != 0
}

// broken is an end that is none in good order.
func broken(err error) bool { return err != nil && !errors.Is(err, io.EOF) }

// reset ends a connection with RST, as after a crash.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it is closed next
	}
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.ENOTCONN) {
		return // it is over either way
	}
}
