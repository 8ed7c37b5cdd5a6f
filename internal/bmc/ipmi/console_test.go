package ipmi_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/ipmi"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

// terminal is a console with what it has shown.
type terminal struct {
	bmc.Console
	t     *testing.T
	shown bytes.Buffer
}

func openConsole(t *testing.T, s bmc.Session) *terminal {
	t.Helper()
	c, err := s.OpenConsole(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &terminal{Console: c, t: t}
}

// until reads until the text comes, and returns what came up to there since the last call.
func (c *terminal) until(text string) string {
	c.t.Helper()
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	buffer := make([]byte, 100)
	for {
		if before, _, ok := strings.Cut(c.shown.String(), text); ok {
			c.shown.Next(len(before) + len(text))
			return before
		}
		n, err := c.Read(buffer)
		require.NoError(c.t, err, "after %q", c.shown.String())
		c.shown.Write(buffer[:n])
	}
}

func (c *terminal) send(text string) {
	c.t.Helper()
	n, err := c.Write([]byte(text))
	require.NoError(c.t, err)
	require.Equal(c.t, len(text), n)
}

// lines is text of many packets, each line with its number.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %04d ........................\r", i)
	}
	return b.String()
}

// startBoot opens the console of a server and switches it on. Without a disk it starts a shell, which echoes what is typed.
func startBoot(t *testing.T, r *rack, c ipmi.Config) (bmc.Session, *terminal) {
	t.Helper()
	s := open(t, newDriver(t, c), r.info(nil))
	console := openConsole(t, s)
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	console.until("Power-on self-test")
	return s, console
}

func TestTheConsoleShowsTheBoot(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	s, console := startBoot(t, r, quick())
	console.until("Nothing to boot from")
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestForceOff))
	console.until("PoweringOff")
	console.send("nobody hears this")
	require.NoError(t, console.SetReadDeadline(time.Now()))
	_, err := io.ReadAll(console)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	sessions := r.server().Sessions
	require.NoError(t, console.Close())
	require.Equal(t, sessions-1, r.server().Sessions, "its session is closed")
	_, err = console.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestTheConsoleEchoesWhatIsTyped(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	_, console := startBoot(t, r, quick())
	console.until("Shell> ")
	const n = 200
	console.send(lines(n))
	for i := range n {
		require.Equal(t, strings.TrimSuffix(lines(1), "\r")[9:], console.until("\r\nShell> ")[9:], "line %d", i)
	}
	require.NoError(t, console.SendBreak(t.Context()))
	console.until("[break]\r\nShell> ")
	console.send("the end")
	console.until("the end")
}

// Of what is typed, of its acknowledgement, of the echo and of the acknowledgement of that, each is lost once.
func TestNothingOfTheConsoleIsLostOrDoubledWithThePackets(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	_, console := startBoot(t, r, quick())
	console.until("Shell> ")
	for i, fault := range []string{
		`{"kind":"lost_packet","command":"SOL Payload","count":1}`,
		`{"kind":"lost_packet","command":"SOL Payload","count":1,"when":"after"}`,
		`{"kind":"lost_packet","command":"SOL Payload","count":2},{"kind":"lost_packet","command":"SOL Payload","count":2,"when":"after"}`,
		`{"kind":"lost_packet","command":"SOL Payload","count":1,"probability":0},{"kind":"lost_packet","command":"SOL Payload","count":1}`,
		`{"kind":"repeated_packet"},{"kind":"repeated_packet","when":"after"}`,
	} {
		r.faults(fault)
		typed := fmt.Sprintf("line %d", i)
		console.send(typed + "\r")
		require.Equal(t, typed, console.until("\r\nShell> "), "%s", fault)
		console.send("once more")
		require.Empty(t, console.until("once more"), "%s", fault)
		console.send("\r")
		require.Empty(t, console.until("\r\nShell> "), "%s", fault)
	}
}

func TestABrokenConsole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		idle   time.Duration
		broken func(*rack, *terminal)
	}{
		"what is typed gets no answer": {time.Minute, func(r *rack, c *terminal) {
			r.faults(`{"kind":"silence"}`)
			c.send("x")
		}},
		"nothing comes":        {10 * time.Millisecond, func(r *rack, c *terminal) { r.faults(`{"kind":"silence"}`) }},
		"the BMC forgets it":   {10 * time.Millisecond, func(r *rack, c *terminal) { restartBMC(r, c) }},
		"all packets get lost": {time.Minute, func(r *rack, c *terminal) { r.faults(`{"kind":"lost_packet"}`); c.send("x") }},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRack(t, sim.Config{})
			conf := quick()
			conf.RequestTimeout, conf.ConsoleIdle = time.Second, c.idle
			console := openConsole(t, open(t, newDriver(t, conf), r.info(nil)))
			c.broken(r, console)
			_, err := io.ReadAll(console)
			require.Contains(t, []fault.Kind{fault.Unreachable, fault.Refused}, fault.KindOf(err), "%v", err)
			require.Error(t, console.SendBreak(t.Context()))
		})
	}
}

func restartBMC(r *rack, c *terminal) {
	s := open(c.t, newDriver(c.t, quick()), r.info(nil))
	require.NoError(c.t, s.RestartBMC(c.t.Context(), false))
}

func TestAConsoleThatPrintsNothingStaysOpen(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	conf := quick()
	conf.RequestTimeout, conf.ConsoleIdle = time.Second, 10*time.Millisecond
	s := open(t, newDriver(t, conf), r.info(nil))
	console := openConsole(t, s)
	require.NoError(t, console.SetReadDeadline(time.Now().Add(3*time.Second)))
	_, err := io.ReadAll(console)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	console.until("Nothing to boot from")
}

func TestTheConsoleOfSomebodyElse(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	s := open(t, newDriver(t, quick()), r.info(nil))
	r.faults(`{"kind":"console_in_use"}`)
	_, err := s.OpenConsole(t.Context())
	require.ErrorIs(t, err, bmc.ErrConsoleInUse)
	require.Zero(t, r.server().Sessions, "no session is left")
	r.faults("")
	openConsole(t, s)
}

// A session that has lost the console to another one leaves it there, also if it does not know yet that it has lost it.
func TestALostConsoleStaysWithItsNewOwner(t *testing.T) {
	t.Parallel()
	for name, knows := range map[string]bool{"it knows": true, "it does not know": false} {
		t.Run(name, func(t *testing.T) {
			r := startRack(t, sim.Config{})
			conf := quick()
			conf.ConsoleIdle = time.Minute
			lost := openConsole(t, open(t, newDriver(t, conf), r.info(nil)))
			s := open(t, newDriver(t, conf), r.info(nil))
			if !knows {
				r.faults(`{"kind":"lost_packet","command":"SOL Payload","when":"after","count":1}`)
			}
			require.NoError(t, s.EndConsole(t.Context()))
			r.faults("")
			console := openConsole(t, s)
			if knows {
				_, err := io.ReadAll(lost)
				require.ErrorIs(t, err, bmc.ErrConsoleEnded)
			}
			require.NoError(t, lost.Close())
			require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
			console.until("Nothing to boot from")
		})
	}
}

// The first answer to Activate Payload is lost. To the second one the BMC answers that a session has the console.
func TestALostAnswerWhileTheConsoleIsOpened(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	s := open(t, newDriver(t, quick()), r.info(nil))
	r.faults(`{"kind":"lost_packet","count":1,"when":"after","command":"Activate Payload"}`)
	console := openConsole(t, s)
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	console.until("Nothing to boot from")
}

func TestAControllerBehindTheBMCHasNoConsole(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	s := open(t, newDriver(t, quick()), r.info(map[string]any{"ipmi_bridging": "single", "ipmi_target_channel": 0.0, "ipmi_target_address": "0x30"}))
	_, err := s.OpenConsole(t.Context())
	require.Equal(t, fault.Refused, fault.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "ipmi_bridging")
}

// serialPort is a serial port that answers each character with itself.
func serialPort(t *testing.T) (line string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		<-ended
	})
	return fmt.Sprintf(`sol "tcp:127.0.0.1:%d" 115200`, l.Addr().(*net.TCPAddr).Port)
}

func TestTheConsoleOfOpenIPMI(t *testing.T) {
	t.Parallel()
	o := startOpenIPMI(t, serialPort(t))
	s := open(t, newDriver(t, quick()), o.info(nil))
	console := openConsole(t, s)
	console.send("hello")
	console.until("hello")
	sent := lines(200)
	console.send(sent)
	require.Equal(t, sent, console.until("line 0199 ........................\r")+"line 0199 ........................\r")
	require.NoError(t, console.SendBreak(t.Context()))
	console.send("goodbye")
	console.until("goodbye")
}
