package sim_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/machine"
)

// ipmitool drives a BMC's IPMI front: somebody else's client judges the front.
type ipmitool struct {
	t    *testing.T
	path string
	args []string
}

func newIPMITool(t *testing.T, row sim.Server, suite int) ipmitool {
	t.Helper()
	path, err := exec.LookPath("ipmitool")
	if err != nil && os.Getenv("TEMPER_TEST_REQUIRE") != "" {
		t.Fatal("ipmitool is not installed (Debian: apt-get install ipmitool)")
	}
	if err != nil {
		t.Skip("NOT TESTED: ipmitool is not installed (Debian: apt-get install ipmitool)")
	}
	return ipmitool{t, path, []string{
		"-I", "lanplus", "-H", row.IPMIAddress, "-p", strconv.Itoa(row.IPMIPort), "-U", row.IPMIUsername, "-P", row.IPMIPassword, "-C", strconv.Itoa(suite),
	}}
}

func (i ipmitool) try(args ...string) (string, error) {
	out, err := exec.Command(i.path, append(i.args, args...)...).CombinedOutput()
	return string(out), err
}

func (i ipmitool) run(args ...string) string {
	i.t.Helper()
	out, err := i.try(args...)
	require.NoError(i.t, err, "%v: %s", args, out)
	return out
}

func TestIPMIToolReadsAndDrivesAServer(t *testing.T) {
	t.Parallel()
	for _, suite := range []int{3, 17} {
		t.Run(strconv.Itoa(suite), func(t *testing.T) {
			s := start(t, quick(sim.Config{Servers: 2, Seed: 1, IPMI: true}))
			m := s.rack.Server("sim-0002")
			tool := newIPMITool(t, s.server("sim-0002"), suite)
			become := func(p machine.Power) {
				t.Helper()
				require.Eventually(t, func() bool { return m.PowerState() == p }, soon, time.Millisecond)
			}
			require.Contains(t, tool.run("power", "status"), "is off")
			tool.run("power", "on")
			become(machine.On)
			require.Contains(t, tool.run("chassis", "status"), "System Power         : on")
			tool.run("power", "reset")
			tool.run("power", "diag")
			tool.run("power", "soft")
			become(machine.Off)
			require.Contains(t, tool.run("power", "status"), "is off")
			_, err := tool.try("power", "reset")
			require.Error(t, err, "a server that is off can't be reset")
			var resets []string
			for _, a := range m.PowerActions() {
				resets = append(resets, string(a.ResetType))
			}
			require.Equal(t, []string{"On", "ForceRestart", "Nmi", "GracefulShutdown", "ForceRestart"}, resets)

			tool.run("chassis", "bootdev", "pxe", "options=efiboot,persistent")
			require.Equal(t, machine.Boot{Target: "Pxe", Enabled: "Continuous", Mode: "UEFI"}, m.BootOverride())
			flags := tool.run("chassis", "bootparam", "get", "5")
			for _, want := range []string{"Boot Flag Valid", "all future boots", "BIOS EFI boot", "Force PXE"} {
				require.Contains(t, flags, want)
			}
			tool.run("chassis", "bootdev", "disk")
			require.Equal(t, machine.Boot{Target: "Hdd", Enabled: "Once", Mode: "Legacy"}, m.BootOverride())
			tool.run("chassis", "bootdev", "none")
			require.Equal(t, "Disabled", m.BootOverride().Enabled)

			tool.run("chassis", "identify", "force")
			require.Equal(t, "Lit", m.Settings().LED)
			tool.run("chassis", "identify", "0")
			require.Equal(t, "Off", m.Settings().LED)
			require.Contains(t, tool.run("mc", "info"), "IPMI Version              : 2.0")
			require.Zero(t, s.server("sim-0002").IPMISessions, "each is closed")
			require.Empty(t, s.server("sim-0001").PowerActions)

			tool.run("mc", "reset", "cold")
			require.Eventually(t, func() bool { return !m.BMCStarted().IsZero() }, soon, time.Millisecond, "the BMC restarts")
		})
	}
}

func TestIPMIToolReadsTheSensors(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1, IPMI: true}))
	tool := newIPMITool(t, s.server("sim-0001"), 17)
	require.Regexp(t, `(?m)^CPU1 Temp +\| no reading +\| ns$`, tool.run("sdr", "list", "full"), "it is off")
	tool.run("power", "on")
	m := s.rack.Server("sim-0001")
	require.Eventually(t, func() bool { return m.PowerState() == machine.On }, soon, time.Millisecond)
	s.faults("sim-0001", `{"kind":"overheated"}`)
	told := tool.run("sdr", "list", "full")
	for _, want := range []string{`Inlet Temp +\| 22 degrees C +\| ok`, `CPU1 Temp +\| 98 degrees C +\| cr`, `Fan 4 +\| 8400 RPM +\| ok`} {
		require.Regexp(t, "(?m)^"+want+"$", told)
	}
}

func TestIPMIToolIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1, IPMI: true}))
	row := s.server("sim-0001")
	wrong := row
	wrong.IPMIPassword = "wrong"
	_, err := newIPMITool(t, wrong, 17).try("power", "status")
	require.Error(t, err)
	s.faults("sim-0001", `{"kind":"session_limit"}`)
	out, err := newIPMITool(t, row, 17).try("power", "status")
	require.Error(t, err)
	require.Contains(t, strings.ToLower(out), "insufficient resources")
}

func TestPortsOfIPMISurviveARestart(t *testing.T) {
	t.Parallel()
	for range 5 { // another process may take a port meanwhile
		cfg := quick(sim.Config{Servers: 2, IPMI: true, DataDir: t.TempDir()})
		var ports [2][2]int
		for i := range ports {
			s := start(t, cfg)
			ports[i] = [2]int{s.server("sim-0001").IPMIPort, s.server("sim-0002").IPMIPort}
			s.stop()
		}
		require.NotEqual(t, ports[0][0], ports[0][1])
		if ports[0] == ports[1] {
			return
		}
	}
	t.Fatal("the ports change with each start")
}

// ipmitool reads the event log, and clears it with a reservation.
func TestIPMIToolReadsAndClearsTheEventLog(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1, Seed: 1, IPMI: true}))
	m := s.rack.Server("sim-0001")
	tool := newIPMITool(t, s.server("sim-0001"), 17)
	require.Contains(t, tool.run("sel", "info"), "Entries          : 0")
	tool.run("power", "on")
	require.Eventually(t, func() bool { return m.PowerState() == machine.On }, soon, time.Millisecond)
	tool.run("power", "diag")
	require.False(t, m.CheckPassword("admin", "wrong"))
	list := tool.run("sel", "list")
	require.Regexp(t, `(?s)System ACPI Power State.*S0/G0: working.*Critical Interrupt.*NMI/Diag Interrupt.*Session Audit`, list)
	require.Equal(t, 3, strings.Count(list, "Asserted"), "%s", list)
	require.Contains(t, tool.run("sel", "info"), "Entries          : 3")
	tool.run("sel", "clear")
	list = tool.run("sel", "list")
	require.Equal(t, 1, strings.Count(list, "Asserted"), "%s", list)
	require.Contains(t, list, "Log area reset/cleared")
}
