package sim_test

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/machine"
)

// TestIPMIToolUsesTheConsole gives ipmitool a terminal, which it wants for a console, with script(1).
func TestIPMIToolUsesTheConsole(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1, IPMI: true}))
	m := s.rack.Server("sim-0001")
	tool := newIPMITool(t, s.server("sim-0001"), 17)
	require.Contains(t, tool.run("sol", "info"), "Enabled                         : true")
	script, err := exec.LookPath("script")
	require.NoError(t, err, "script is not installed (Debian: apt-get install bsdutils)")
	activate := exec.Command(script, "-qec", tool.path+" "+strings.Join(append(tool.args, "sol", "activate"), " "), "/dev/null")
	keyboard, err := activate.StdinPipe()
	require.NoError(t, err)
	screen, err := activate.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, activate.Start())
	killed := time.AfterFunc(soon, func() { _ = activate.Process.Kill() })
	defer killed.Stop()
	out := bufio.NewReader(screen)
	until := func(text string) {
		t.Helper()
		var got strings.Builder
		for !strings.HasSuffix(got.String(), text) {
			b, err := out.ReadByte()
			require.NoError(t, err, "waiting for %q after %q", text, got.String())
			got.WriteByte(b)
		}
	}
	until("SOL Session operational")
	require.NoError(t, m.Reset(machine.ResetOn))
	until("Power-on self-test\r\n")
	until("Shell> ")
	_, err = io.WriteString(keyboard, "hello\r")
	require.NoError(t, err)
	until("hello\r\nShell> ")

	other, err := tool.try("sol", "activate")
	require.Error(t, err)
	require.Contains(t, other, "already active on another session")
	_, err = io.WriteString(keyboard, "\r~.")
	require.NoError(t, err)
	until("terminated ipmitool")
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	require.NoError(t, activate.Wait())
	require.Zero(t, s.server("sim-0001").IPMISessions)
}
