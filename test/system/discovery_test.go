package system_test

import (
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/testenv"
)

// A virtual machine that Temper does not know boots the ramdisk by network, and is listed with what its agent found.
func TestAVirtualMachineIsDiscovered(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	testenv.Need(t, "qemu-system-x86_64", "qemu-system-x86")
	s := world(t)
	const guest = "10.0.2.2"
	at := freeAddress(t)
	_, port, err := net.SplitHostPort(at)
	require.NoError(t, err)
	to := "http://" + net.JoinHostPort(guest, port)
	s.role(t, "boot", "vm-discovery", []string{"TEMPER_RAMDISK=" + builtISO(t), "TEMPER_ALLOWED_HOSTS=" + guest, "TEMPER_DISCOVERY=true", "TEMPER_AGENT_URL=" + to}, "--listen", at)
	dir := t.TempDir()
	r := ownRack(t, s.APIURL, sim.Config{Servers: 1, Machines: sim.QEMU, Firmware: sim.BIOS, DataDir: dir, IPMI: true, PXE: true, NetworkBoot: to + medium.NetworkScript})
	name := r.take(t)
	sv, err := r.read(name)
	require.NoError(t, err)
	mac := sv.MACs[0]
	sends := func(method, path string, body map[string]any) {
		a, err := request(method, sv.Address+sv.System+path, body, sv.login())
		require.NoError(t, err)
		require.Less(t, a.Status, 300, "%s", a.Body)
	}
	sends(http.MethodPatch, "", map[string]any{"Boot": map[string]any{"BootSourceOverrideEnabled": "Continuous", "BootSourceOverrideTarget": "Pxe"}})
	sends(http.MethodPost, "/Actions/ComputerSystem.Reset", map[string]any{"ResetType": "On"})
	var found struct {
		Discoveries []struct {
			UUID    string
			MACs    []string
			BootMAC string `json:"boot_mac"`
			CPUs    int
			Memory  int `json:"memory_mb"`
		}
	}
	eventually(t, 9*time.Minute, func() error {
		if err := s.read("/temper/v1/discoveries", &found); err != nil {
			return err
		}
		if len(found.Discoveries) == 0 {
			return errors.New("nothing was found")
		}
		return nil
	})
	d := found.Discoveries[0]
	require.Contains(t, d.MACs, mac)
	require.Equal(t, mac, d.BootMAC)
	require.Positive(t, d.CPUs)
	require.Positive(t, d.Memory)
}
