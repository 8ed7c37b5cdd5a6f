package system_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/sim"
)

// line is a client of the serial console of a node.
type line struct {
	net.Conn
	got bytes.Buffer
}

// dialConsole connects to the URL that the API tells.
func dialConsole(t *testing.T, url string) *line {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "tcp://")) //nolint:noctx // a test
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &line{Conn: c}
}

// until reads until the text comes.
func (l *line) until(text string) error { return l.within(patience, text) }

func (l *line) within(limit time.Duration, text string) error {
	if err := l.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	buffer := make([]byte, 100)
	for !strings.Contains(l.got.String(), text) {
		n, err := l.Read(buffer)
		l.got.Write(buffer[:n])
		if err != nil {
			return fmt.Errorf("%w after %q", err, l.got.String())
		}
	}
	_, rest, _ := strings.Cut(l.got.String(), text)
	l.got.Reset()
	l.got.WriteString(rest)
	return nil
}

// echoes waits until the server echoes what is typed, as the rack's servers do when they are on. What is typed while the console of
// the BMC is not open is lost, so it is typed again.
func (l *line) echoes(t *testing.T, text string) {
	t.Helper()
	eventually(t, patience, func() error {
		if _, err := io.WriteString(l, text+"\r"); err != nil {
			return err
		}
		return l.within(time.Second, text)
	})
}

// consoleNode creates a node with IPMI whose console is enabled, in a conductor group.
func consoleNode(t *testing.T, s *stack, r *rack, group string) (path string) {
	t.Helper()
	name := r.take(t)
	var of struct {
		Address  string `json:"ipmi_address"`
		Port     int    `json:"ipmi_port"`
		Username string `json:"ipmi_username"`
		Password string `json:"ipmi_password"`
	}
	a, err := request(http.MethodGet, r.url+"/servers/"+name, nil, nil)
	require.NoError(t, err)
	require.NoError(t, a.Decode(&of))
	path = "/v1/nodes/" + r.prefix + name
	s.must(t, http.StatusCreated, http.MethodPost, "/v1/nodes", map[string]any{
		"name": r.prefix + name, "driver": "ipmi", "conductor_group": group,
		"driver_info": map[string]any{"ipmi_address": of.Address, "ipmi_port": of.Port, "ipmi_username": of.Username, "ipmi_password": of.Password},
	})
	s.must(t, http.StatusAccepted, http.MethodPut, path+"/states/power", map[string]any{"target": "power on"})
	s.must(t, http.StatusAccepted, http.MethodPut, path+"/states/console", map[string]any{"enabled": true})
	return path
}

// shownConsole is the console of a node as the API shows it.
type shownConsole struct{ Conductor, URL, Error string }

func (s *stack) console(path string) (out shownConsole, err error) {
	return out, s.read("/temper"+path+"/console", &out)
}

// awaitConsole waits until the conductor listens for clients of the console, and returns the URL that clients of Ironic's API get.
func (s *stack) awaitConsole(t *testing.T, path, conductor string) string {
	t.Helper()
	eventually(t, patience, func() error {
		held, err := s.console(path)
		if err == nil && (held.Conductor != conductor || held.URL == "") {
			err = fmt.Errorf("the console is held by %q at %q", held.Conductor, held.URL)
		}
		return err
	})
	var out struct {
		Enabled bool                        `json:"console_enabled"`
		Info    *struct{ Type, URL string } `json:"console_info"`
	}
	require.NoError(t, s.read(path+"/states/console", &out))
	require.True(t, out.Enabled)
	require.Equal(t, "socat", out.Info.Type)
	return out.Info.URL
}

// A conductor dies while a client uses the console of a node. The next one that owns the node has it, takes over the session that the
// dead one has left at the BMC, and the API tells its address. A conductor that was frozen meanwhile gives the console up.
func TestTheConsoleOfANodeOutlivesItsConductor(t *testing.T) {
	t.Parallel()
	s := world(t)
	r := ownRack(t, s.APIURL, sim.Config{Servers: 1, IPMI: true})
	holders := map[string]*dev.Running{}
	start := func(name string) { holders[name] = s.conductorWith(t, "ipmi", "serial", name) }
	start("serial-1")
	path := consoleNode(t, s, r, "serial")
	url := s.awaitConsole(t, path, "serial-1")
	client := dialConsole(t, url)
	client.echoes(t, "one")
	require.NoError(t, dialConsole(t, url).until("another client has this console"))

	start("serial-2")
	require.NoError(t, syscall.Kill(holders["serial-1"].Pid(), syscall.SIGKILL))
	require.Error(t, client.until("nothing comes any more"))
	client = dialConsole(t, s.awaitConsole(t, path, "serial-2"))
	client.echoes(t, "two")

	start("serial-3")
	frozen := holders["serial-2"]
	require.NoError(t, syscall.Kill(frozen.Pid(), syscall.SIGSTOP))
	url = s.awaitConsole(t, path, "serial-3")
	next := dialConsole(t, url)
	next.echoes(t, "three")
	require.NoError(t, syscall.Kill(frozen.Pid(), syscall.SIGCONT))
	require.NoError(t, client.until("does not hold this console any more"), "the client that it had is told")
	next.echoes(t, "four")

	s.must(t, http.StatusAccepted, http.MethodPut, path+"/states/console", map[string]any{"enabled": false})
	require.NoError(t, next.until("does not hold this console any more"))
	_, err := next.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	held, err := s.console(path)
	require.NoError(t, err)
	require.Zero(t, held)
}

// What is wrong with the BMC is told to the client and by the API, and is tried again.
func TestAConsoleWhoseBMCRefusesSaysSo(t *testing.T) {
	t.Parallel()
	s := world(t)
	r := ownRack(t, s.APIURL, sim.Config{Servers: 1, IPMI: true})
	s.conductorWith(t, "ipmi", "serial-busy", "serial-busy-1")
	path := consoleNode(t, s, r, "serial-busy")
	server := strings.TrimPrefix(path, "/v1/nodes/"+r.prefix)
	faults := func(kinds ...string) {
		list := make([]map[string]any, len(kinds))
		for i, kind := range kinds {
			list[i] = map[string]any{"kind": kind}
		}
		_, err := request(http.MethodPut, r.url+"/servers/"+server+"/faults", map[string]any{"faults": list}, nil)
		require.NoError(t, err)
	}
	url := s.awaitConsole(t, path, "serial-busy-1")
	faults("console_in_use")
	client := dialConsole(t, url)
	require.NoError(t, client.until("another session has the console"))
	var held shownConsole
	failed := func(want bool) {
		t.Helper()
		eventually(t, patience, func() (err error) {
			if held, err = s.console(path); err == nil && (held.Error != "") != want {
				err = fmt.Errorf("the error is %q", held.Error)
			}
			return err
		})
	}
	failed(true)
	require.Contains(t, held.Error, "another session has the console")
	require.Equal(t, url, held.URL)
	var why struct{ Text string }
	require.NoError(t, s.read("/temper"+path+"/why", &why))
	require.Contains(t, why.Text, "Its console failed at ")
	faults()
	client.echoes(t, "hello")
	failed(false)

	s.must(t, http.StatusOK, http.MethodPatch, path, set("driver_info/ipmi_password", "wrong"))
	require.NoError(t, client.until("does not hold this console any more"), "it is reached otherwise")
	failed(false)
	eventually(t, patience, func() error { // until the conductor listens again
		held, err := s.console(path)
		if err != nil || held.URL == "" {
			return fmt.Errorf("no conductor listens: %w", err)
		}
		c, err := net.Dial("tcp", strings.TrimPrefix(held.URL, "tcp://")) //nolint:noctx // a test
		if err == nil {
			client = &line{Conn: c}
		}
		return err
	})
	t.Cleanup(func() { _ = client.Close() })
	require.NoError(t, client.until("next try in "))
	failed(true)
	require.Contains(t, held.Error, "password")
	require.NotContains(t, held.Error, "wrong")
}

// A console for which no port is free is told as such.
func TestAConsoleWithoutAPortSaysSo(t *testing.T) {
	t.Parallel()
	s := world(t)
	r := ownRack(t, s.APIURL, sim.Config{Servers: 1, IPMI: true})
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	port := taken.Addr().(*net.TCPAddr).Port
	s.conductorWith(t, "ipmi", "serial-full", "serial-full-1", fmt.Sprintf("TEMPER_CONSOLE_PORT_RANGE=%d:%d", port, port+1))
	path := consoleNode(t, s, r, "serial-full")
	var held shownConsole
	eventually(t, patience, func() (err error) {
		if held, err = s.console(path); err == nil && held.Error == "" {
			err = errors.New("no error is told")
		}
		return err
	})
	require.Equal(t, "serial-full-1", held.Conductor)
	require.Empty(t, held.URL)
	require.Contains(t, held.Error, fmt.Sprintf("no port is free at 127.0.0.1 in console.port_range %d:%d", port, port+1))
}

// What a server prints while it boots the ramdisk is kept, also if its BMC speaks Redfish: that has IPMI beside it.
func TestTheSerialConsoleOfABootIsKept(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, ownRack(t, s.APIURL, sim.Config{Servers: 1, IPMI: true}))
	var of struct {
		Address  string `json:"ipmi_address"`
		Port     int    `json:"ipmi_port"`
		Password string `json:"ipmi_password"`
	}
	a, err := request(http.MethodGet, n.r.url+"/servers/"+n.server, nil, nil)
	require.NoError(t, err)
	require.NoError(t, a.Decode(&of))
	n.patch("console_interface", "ipmitool-socat")
	s.must(t, http.StatusOK, http.MethodPatch, "/v1/nodes/"+n.uuid, slices.Concat(
		set("driver_info/ipmi_address", of.Address), set("driver_info/ipmi_port", of.Port), set("driver_info/redfish_password", of.Password)))
	deploy := n.provision("active", nil)
	n.done(deploy, "active")
	eventually(t, patience, func() error {
		var out struct {
			Logs []struct {
				Operation           int64
				Kind, Step, Content string
			}
		}
		if err := s.read("/temper/v1/nodes/"+n.uuid+"/logs", &out); err != nil {
			return err
		}
		for _, l := range out.Logs {
			if l.Kind == "console" && fmt.Sprint(l.Operation) == deploy && strings.Contains(l.Content, "Booting from cd") {
				return nil
			}
		}
		return fmt.Errorf("nothing of the boot is kept: %v", out.Logs)
	})
}
