package console_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/console"
)

// serial is a console whose other end a test has.
type serial struct {
	net.Conn
	closed func()
}

func (s serial) SendBreak(context.Context) error { return nil }

func (s serial) Close() error {
	s.closed()
	return s.Conn.Close()
}

// server is a relay, with what it opens and tells.
type server struct {
	*console.Relay
	consoles chan net.Conn // the servers' ends of the consoles that were opened

	mu     sync.Mutex
	open   int // consoles that are open
	fails  []error
	failed []error // what Failed was told
}

func serve(t *testing.T, change func(*server)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	require.NoError(t, err)
	s := &server{consoles: make(chan net.Conn, 10)}
	s.Relay = &console.Relay{
		Listener: l, Ended: func(context.Context) {}, Type: func(context.Context) error { return nil },
		Open: func(context.Context) (bmc.Console, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.fails) > 0 {
				err := s.fails[0]
				s.fails = s.fails[1:]
				return nil, err
			}
			ours, theirs := net.Pipe()
			s.open++
			s.consoles <- theirs
			return serial{ours, sync.OnceFunc(func() { s.mu.Lock(); s.open--; s.mu.Unlock() })}, nil
		},
		Failed: func(_ context.Context, err error, _ time.Duration) {
			s.mu.Lock()
			s.failed = append(s.failed, err)
			s.mu.Unlock()
		},
	}
	if change != nil {
		change(s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		require.Zero(t, s.opened(), "every console is closed")
	})
	return s
}

func (s *server) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// line waits until the relay opens a console, and returns the server's end of it.
func (s *server) line(t *testing.T) net.Conn {
	t.Helper()
	select {
	case line := <-s.consoles:
		return line
	case <-time.After(20 * time.Second):
		require.Fail(t, "no console was opened")
		return nil
	}
}

// client is a client of the relay.
type client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func (s *server) dial(t *testing.T) *client {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String()) //nolint:noctx // a test
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	return &client{c, t, bufio.NewReader(c)}
}

// until reads until the text comes.
func (c *client) until(text string) {
	c.t.Helper()
	var got strings.Builder
	for !strings.HasSuffix(got.String(), text) {
		b, err := c.in.ReadByte()
		require.NoError(c.t, err, "after %q", got.String())
		got.WriteByte(b)
	}
}

// rest reads until the relay disconnects.
func (c *client) rest() string {
	c.t.Helper()
	out, err := io.ReadAll(c.in)
	require.NoError(c.t, err)
	return string(out)
}

func send(t *testing.T, w io.Writer, text string) {
	t.Helper()
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
}

func receive(t *testing.T, r net.Conn, text string) {
	t.Helper()
	require.NoError(t, r.SetReadDeadline(time.Now().Add(20*time.Second)))
	buffer := make([]byte, len(text))
	_, err := io.ReadFull(r, buffer)
	require.NoError(t, err)
	require.Equal(t, text, string(buffer))
}

func TestOneClientAtATimeHasTheConsole(t *testing.T) {
	s := serve(t, nil)
	require.Zero(t, s.opened(), "a console without a client is not open")
	first := s.dial(t)
	send(t, first, "typed before the console is open\r")
	line := s.line(t)
	receive(t, line, "typed before the console is open\r")
	go func() { _, _ = io.WriteString(line, "login: ") }()
	first.until("login: ")

	require.Contains(t, s.dial(t).rest(), "another client has this console")
	send(t, first, "root\r")
	receive(t, line, "root\r")

	require.NoError(t, first.Close())
	_, err := line.Read(make([]byte, 1))
	require.Error(t, err, "the console is closed when its client leaves")
	next := s.dial(t)
	line = s.line(t)
	send(t, next, "again\r")
	receive(t, line, "again\r")
}

func TestAClientThatDoesNothingIsDisconnected(t *testing.T) {
	s := serve(t, func(s *server) { s.Idle = 50 * time.Millisecond })
	require.Contains(t, s.dial(t).rest(), "nothing was sent or received for too long")
}

func TestAConsoleThatCannotBeOpenedIsTriedAgain(t *testing.T) {
	busy, silent := errors.New("no session is free"), errors.New("no answer")
	s := serve(t, func(s *server) { s.fails = []error{busy, silent} })
	c := s.dial(t)
	c.until("no session is free; next try in 1s")
	require.Contains(t, s.dial(t).rest(), "another client has this console")
	c.until("no answer; next try in 2s")
	send(t, c, "dropped")
	line := s.line(t)
	go func() { _, _ = io.WriteString(line, "login: ") }()
	c.until("login: ")
	require.NoError(t, line.Close())
	c.until("next try in 4s")
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.failed, 3)
	require.Equal(t, []error{busy, silent}, s.failed[:2])
}

// The pause is the console's: a client that connects again does not shorten it.
func TestTheNextClientWaitsForThePauseOfTheOneBefore(t *testing.T) {
	s := serve(t, func(s *server) { s.fails = []error{errors.New("no answer")} })
	first := s.dial(t)
	first.until("next try in 1s")
	failed := time.Now()
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { // until the first one has left
		c, err := net.Dial("tcp", s.Listener.Addr().String()) //nolint:noctx // a test
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
		_, err = c.Read(make([]byte, 1))
		return err != nil
	}, 20*time.Second, time.Millisecond)
	s.line(t)
	require.Greater(t, time.Since(failed), console.FirstPause/2)
}

func TestWhoDoesNotHoldTheConsoleAnyMoreSaysSo(t *testing.T) {
	var lost atomic.Bool
	s := serve(t, func(s *server) {
		s.Type = func(context.Context) error {
			if lost.Load() {
				return console.ErrClosed
			}
			return nil
		}
	})
	c := s.dial(t)
	line := s.line(t)
	send(t, c, "a")
	receive(t, line, "a")
	lost.Store(true)
	send(t, c, "b")
	require.Contains(t, c.rest(), "ask the API where it is now")
	_, err := line.Read(make([]byte, 1))
	require.Error(t, err, "what was typed then is not sent")

	s.mu.Lock()
	s.fails = []error{console.ErrClosed}
	s.mu.Unlock()
	require.Contains(t, s.dial(t).rest(), "ask the API where it is now")
}

func TestPorts(t *testing.T) {
	address := netip.MustParseAddr("127.0.0.1")
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	_, err = console.Ports{First: port, End: port + 1}.Listen(address, "n1", nil)
	require.ErrorIs(t, err, console.ErrNoPort)
	_, err = console.ListenAt(address, port)
	require.Error(t, err)
	_, err = console.Ports{First: 1024, End: 1026}.Listen(address, "n1", map[int]bool{1024: true, 1025: true})
	require.ErrorIs(t, err, console.ErrNoPort)
	require.ErrorContains(t, err, "console.port_range 1024:1026")
	for _, ports := range []console.Ports{{First: port, End: 65536}, {First: 1024, End: port + 1}} {
		l, err := ports.Listen(address, "n1", nil)
		require.NoError(t, err)
		require.NotEqual(t, port, l.Addr().(*net.TCPAddr).Port)
		require.NoError(t, l.Close())
	}
}
