package hardware_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/hardware"
)

func TestPCIDevicesHaveTheirNumbers(t *testing.T) {
	t.Parallel()
	const at = "sys/bus/pci/devices/0000:17:00.0/"
	m := hardware.Machine{Root: tree(t, map[string]string{
		at + "vendor": "0x8086\n", at + "device": "0x1592\n", at + "class": "0x020000\n", at + "revision": "0x02\n", "sys/bus/pci/devices/0000:00:00.0/class": "0x060000\n",
	})}
	require.Equal(t, []agent.PCIDevice{{Vendor: "8086", Product: "1592", Class: "020000", Revision: "02", Bus: "0000:17:00.0"}}, m.PCIDevices())
	require.Equal(t, []agent.PCIDevice{}, hardware.Machine{Root: t.TempDir()}.PCIDevices())
}

func TestLinksHaveASwitchAtTheirOtherEnd(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for name, c := range map[string][2]string{"eno1": {"ice", "1"}, "eno2": {"ice", "0"}, "eth0": {"virtio_net", "1"}} {
		dir := "sys/class/net/" + name
		files[dir+"/address"], files[dir+"/carrier"], files[dir+"/device/driver"] = "52:54:00:aa:bb:cc\n", c[1]+"\n", "-> ../../"+c[0]
	}
	require.Equal(t, []string{"eno1"}, hardware.Machine{Root: tree(t, files)}.Links())
}
