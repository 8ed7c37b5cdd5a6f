package sim_test

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

// Third-party clients read the simulator. They support no path before /redfish, so each BMC
// has an address of its own.

func TestRedfishtoolReadsAServer(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("redfishtool")
	if err != nil {
		t.Skip("NOT TESTED: redfishtool is not installed (Debian: apt-get install redfishtool)")
	}
	s := start(t, quick(sim.Config{Servers: 2, Seed: 1, PerServerAddress: true}))
	row, h := s.server("sim-0002"), s.rack.Server("sim-0002")
	u, err := url.Parse(row.RedfishAddress)
	require.NoError(t, err)
	run := func(args ...string) (out map[string]any) {
		t.Helper()
		cmd := exec.Command(tool, append([]string{
			"-r", u.Host, "-u", row.RedfishUsername, "-p", row.RedfishPassword, "-S", "Never", "-n",
		}, args...)...)
		b, err := cmd.Output()
		require.NoError(t, err, "%v: %s", args, b)
		if len(b) > 0 {
			require.NoError(t, json.Unmarshal(b, &out), "%v: %s", args, b)
		}
		return out
	}
	require.Equal(t, h.UUID, run("Systems", "-1", "get")["UUID"])
	require.Equal(t, h.UUID, run("-A", "Session", "Systems", "-1", "-P", "UUID", "get")["UUID"])
	require.EqualValues(t, len(h.CPUs), run("Systems", "-1", "Processors", "list")["Members@odata.count"])
	require.EqualValues(t, len(h.NICs), run("Systems", "-1", "EthernetInterfaces", "list")["Members@odata.count"])
	require.Equal(t, h.NICs[0].MAC, run("Systems", "-1", "EthernetInterfaces", "-i", "1")["MACAddress"])
	run("Systems", "-1", "setBootOverride", "Once", "Cd")
	require.Equal(t, "Cd", *s.server("sim-0002").BootOverride)
	run("Systems", "-1", "setIndicatorLed", "Lit")
	require.Equal(t, "Lit", run("Systems", "-1", "-P", "IndicatorLED", "get")["IndicatorLED"])
	run("Systems", "-1", "reset", "On")
	s.bmc("sim-0002").become("On")
	require.Equal(t, "On", run("Systems", "-1", "-P", "PowerState", "get")["PowerState"])
	require.Equal(t, h.BMCVersion, run("Managers", "-1", "get")["FirmwareVersion"])
	require.Equal(t, h.Serial, run("Chassis", "-1", "get")["SerialNumber"])
	require.Equal(t, row.RedfishUsername, run("AccountService", "Accounts", "-i", "1")["UserName"])
	require.Empty(t, s.server("sim-0001").PowerActions)
}

// sushyPython returns a Python that has sushy. Debian's has it, but is not always the first in PATH.
func sushyPython(t *testing.T) string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if p, err := exec.LookPath(name); err == nil && exec.Command(p, "-c", "import sushy").Run() == nil {
			return p
		}
	}
	t.Skip("NOT TESTED: python3-sushy is not installed (Debian: apt-get install python3-sushy)")
	return ""
}

func TestSushyReadsAndDrivesAServer(t *testing.T) {
	t.Parallel()
	python := sushyPython(t)
	s := start(t, quick(sim.Config{Servers: 1, Seed: 1, PerServerAddress: true}))
	row, h := s.server("sim-0001"), s.rack.Server("sim-0001")
	image := s.rack.URL() + "/images/deploy.iso"
	cmd := exec.Command(python, "testdata/sushy_reads.py", row.RedfishAddress, row.RedfishUsername, row.RedfishPassword, image)
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(b, &got))

	macs := slices.Sorted(slices.Values(h.MACs()))
	require.Equal(t, []any{macs[0], macs[1]}, got["macs"])
	require.Equal(t, h.UUID, got["uuid"])
	require.Equal(t, "Off", got["power"])
	require.EqualValues(t, h.MemoryMiB()/1024, got["memory_gib"])
	require.EqualValues(t, len(h.CPUs)*h.CPUs[0].Threads, got["cpus"])
	require.Len(t, got["cpu_models"], len(h.CPUs))
	require.EqualValues(t, []any{float64(h.Drives[0].Bytes), float64(h.Drives[1].Bytes)}, got["disks"])
	require.Equal(t, []any{"BiosSetup", "Cd", "Hdd", "None", "Pxe", "UefiHttp"}, got["boot_targets"])
	require.Equal(t, []any{"ForceOff", "ForceRestart", "GracefulShutdown", "Nmi", "On"}, got["resets"])
	require.Equal(t, h.BMCVersion, got["manager"])
	require.Equal(t, []any{true, image}, got["media"])
	require.Equal(t, []any{"Cd", "Once"}, got["boot_before"])
	require.Equal(t, []any{"None", "Disabled"}, got["boot_after"], "used by the boot")
	require.Equal(t, "Disabled", got["bios_after"], "applied by the reset")
	require.Equal(t, true, got["ejected"])
	require.Len(t, s.server("sim-0001").PowerActions, 2)
}
