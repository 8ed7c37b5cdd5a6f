package main

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

// shown is an output that tests look at while it is written.
type shown struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shown) has(text string) func() bool {
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.text.String(), text)
	}
}

func TestBMCConsole(t *testing.T) {
	rack, row := startRack(t, sim.Config{IPMI: true, PowerDelay: time.Millisecond, BootDelay: time.Millisecond})
	m := rack.Server(row.Name)
	args := []string{"bmc", "console", row.IPMIAddress, "--port", strconv.Itoa(row.IPMIPort), "--username", row.IPMIUsername, "--password-file", passwordIn(t, row.IPMIPassword)}
	keyboard, typing := io.Pipe()
	var out shown
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, "temper", args, stdio{keyboard, &out, io.Discard}) }()

	_, err := typing.Write([]byte("nobody hears this, but the console is open\r"))
	require.NoError(t, err)
	require.NoError(t, m.Reset(machine.ResetOn))
	require.Eventually(t, out.has("Shell> "), 20*time.Second, time.Millisecond)
	_, err = typing.Write([]byte("~.\x03 is for the server"))
	require.NoError(t, err)
	require.NoError(t, typing.Close())
	require.Eventually(t, out.has("Shell> ~.\x03 is for the server"), 20*time.Second, time.Millisecond)

	_, err = temper(t, args...)
	require.ErrorContains(t, err, "another session has the console")
	require.ErrorContains(t, err, "--deactivate")
	select {
	case err := <-ended:
		t.Fatalf("the end of standard input ends nothing: %v", err)
	default:
	}
	interrupt()
	require.Equal(t, exit.CodeInterrupted, exit.Code(<-ended))

	m.SetFaults(faults.List{Faults: []faults.Fault{{Kind: faults.ConsoleInUse}}})
	_, err = temper(t, append(args, "--deactivate")...)
	require.NoError(t, err)
	_, err = temper(t, args...)
	require.ErrorIs(t, err, bmc.ErrConsoleInUse)
	m.SetFaults(faults.List{})
	_, err = temper(t, append(args, "--for", "1ms")...)
	require.NoError(t, err)
	_, err = temper(t, append(args, "--for", "-1s")...)
	require.ErrorContains(t, err, "--for")
	_, err = temper(t, "bmc", "console", row.IPMIAddress, "--username", "x", "--password-file", "-")
	require.ErrorContains(t, err, "standard input")
}
