package hardware_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/hardware"
	"go.temper.dev/temper/internal/rootdevice"
)

// tree writes a machine's files below a folder. A value that begins with "-> " is a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		at := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if len(content) > 3 && content[:3] == "-> " {
			require.NoError(t, os.Symlink(content[3:], at))
			continue
		}
		require.NoError(t, os.WriteFile(at, []byte(content), 0o600))
	}
	return root
}

// server is a server with a SATA disk, a disk of a RAID controller, an NVMe disk, a virtual medium and two network interfaces.
func server(t *testing.T) hardware.Machine {
	module := make([]byte, 0x22)
	module[0], module[1], module[0x0c], module[0x0d], module[0x1d] = 17, 0x22, 0xff, 0x7f, 0x80 // 32 GiB, in the extended field
	small := make([]byte, 0x22)
	small[0], small[1], small[0x0d] = 17, 0x22, 0x40 // 16 GiB
	table := append(append(append([]byte{1, 4, 0, 0}, "text\x00\x00"...), append(module, "A\x00B\x00\x00"...)...), append(small, 0, 0, 127, 4, 0, 0, 0, 0)...)
	const pci = "../devices/pci0000:00/"
	return hardware.Machine{Root: tree(t, map[string]string{
		"proc/sys/kernel/hostname": "temper-agent\n",
		"proc/meminfo":             "MemTotal:       49152000 kB\nMemFree: 1 kB\n",
		"proc/cmdline":             "quiet BOOTIF=01-52-54-00-AA-BB-CC ipa-api-url=http://a\n",
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Xeon 6\nphysical id\t: 0\ncpu MHz\t\t: 800.5\nflags\t\t: fpu vmx aes\n\n" +
			"processor\t: 1\nmodel name\t: Xeon 6\nphysical id\t: 1\nflags\t\t: fpu vmx aes\n",
		"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3500000\n",
		"sys/firmware/efi/fw_platform_size":                    "64\n",
		"sys/firmware/dmi/tables/DMI":                          string(table),
		"sys/class/dmi/id/product_name":                        "PowerEdge R660\n",
		"sys/class/dmi/id/product_serial":                      "ABC123\n",
		"sys/class/dmi/id/sys_vendor":                          "Dell Inc.\n",
		"sys/class/dmi/id/bios_version":                        "2.1\n",

		"sys/block/sda": "-> " + pci + "0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda",
		"sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda/size":                         "937703088\n",
		"sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda/queue/rotational":             "0\n",
		"sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda/queue/logical_block_size":     "512\n",
		"sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda/queue/physical_block_size":    "4096\n",
		"sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda/device/model":                 "Micron 5300   MTFD\n",
		"sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda/device/vendor":                "ATA     \n",
		"sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda/device/wwid":                  "naa.500a075112345678\n",
		"sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda/device/vpd_pg80":              "\x00\x80\x00\x08  S12345",
		"sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda/device/scsi_device/2:0:0:0/x": "",
		"sys/class/ata_port/ata3/port_no": "3\n",
		"dev/disk/by-id/ata-Micron":       "-> ../../sda",

		"sys/block/sdb": "-> " + pci + "0000:65:00.0/host0/target0:2:0/0:2:1:0/block/sdb",
		"sys/devices/pci0000:00/0000:65:00.0/host0/target0:2:0/0:2:1:0/block/sdb/size":                         "7811891200\n",
		"sys/devices/pci0000:00/0000:65:00.0/host0/target0:2:0/0:2:1:0/block/sdb/queue/rotational":             "1\n",
		"sys/devices/pci0000:00/0000:65:00.0/host0/target0:2:0/0:2:1:0/block/sdb/device/wwid":                  "naa.6f4ee080abcdef002c1d2e3f4a5b6c7d\n",
		"sys/devices/pci0000:00/0000:65:00.0/host0/target0:2:0/0:2:1:0/block/sdb/device/scsi_device/0:2:1:0/x": "",

		"sys/block/nvme0n1": "-> " + pci + "0000:01:00.0/nvme/nvme0/nvme0n1",
		"sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/size":          "1875385008\n",
		"sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/wwid":          "eui.0025385b11b0c8ab\n",
		"sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/nsid":          "1\n",
		"sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/device/model":  "SAMSUNG MZQL\n",
		"sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/device/serial": "S64GNE0R\n",

		"sys/block/sr0/size": "2000\n", "sys/block/loop0/size": "2000\n", "sys/block/sdc/size": "0\n",
		"sys/block/sdd/size": "4000\n", "sys/block/sdd/ro": "1\n",

		"sys/class/net/eno1": "-> ../../devices/pci0000:00/0000:17:00.0/net/eno1",
		"sys/devices/pci0000:00/0000:17:00.0/net/eno1/address": "52:54:00:aa:bb:cc\n",
		"sys/devices/pci0000:00/0000:17:00.0/net/eno1/carrier": "1\n",
		"sys/devices/pci0000:00/0000:17:00.0/net/eno1/speed":   "25000\n",
		"sys/devices/pci0000:00/0000:17:00.0/net/eno1/device":  "-> ../../../0000:17:00.0",
		"sys/devices/pci0000:00/0000:17:00.0/vendor":           "0x8086\n",
		"sys/devices/pci0000:00/0000:17:00.0/device":           "0x1592\n",
		"sys/devices/pci0000:00/0000:17:00.0/driver":           "-> ../../../bus/pci/drivers/ice",
		"sys/class/net/lo/address":                             "00:00:00:00:00:00\n",
	}), Addresses: func(string) (string, string) { return "192.0.2.7", "" }}
}

func TestTheInventoryOfAServer(t *testing.T) {
	got := server(t).Inventory()
	require.Equal(t, agent.CPU{ModelName: "Xeon 6", Frequency: "3500.0000", Count: 2, Architecture: got.CPU.Architecture, Flags: []string{"fpu", "vmx", "aes"}, SocketCount: 2}, got.CPU)
	require.Equal(t, agent.Memory{Total: 49152000 << 10, PhysicalMB: 48 << 10}, got.Memory)
	require.Equal(t, agent.BootInfo{Mode: "uefi", PXEInterface: "52:54:00:aa:bb:cc"}, got.Boot)
	require.Equal(t, agent.SystemVendor{ProductName: "PowerEdge R660", SerialNumber: "ABC123", Manufacturer: "Dell Inc.", Firmware: agent.Firmware{Version: "2.1"}}, got.SystemVendor)
	require.Equal(t, agent.Text("temper-agent"), got.Hostname)
	require.Equal(t, []agent.Interface{{
		Name: "eno1", MAC: "52:54:00:aa:bb:cc", IPv4: "192.0.2.7", HasCarrier: true, Vendor: "0x8086", Product: "0x1592", SpeedMbps: 25000,
		PCIAddress: "0000:17:00.0", Driver: "ice",
	}}, got.Interfaces)
	require.Equal(t, []agent.Disk{
		{
			Name: "/dev/nvme0n1", Model: "SAMSUNG MZQL", Size: 1875385008 * 512, Serial: "S64GNE0R", WWN: "eui.0025385b11b0c8ab",
			ByPath: "/dev/disk/by-path/pci-0000:01:00.0-nvme-1",
		},
		{
			Name: "/dev/sda", Model: "Micron 5300 MTFD", Vendor: "ATA", Size: 937703088 * 512, Serial: "S12345", WWN: "0x500a075112345678",
			WWNWithExtension: "0x500a075112345678", HCTL: "2:0:0:0", ByPath: "/dev/disk/by-path/pci-0000:00:17.0-ata-3", LogicalSectors: 512, PhysicalSectors: 4096,
		},
		{
			Name: "/dev/sdb", Size: 7811891200 * 512, Rotational: true, WWN: "0x6f4ee080abcdef00", WWNWithExtension: "0x6f4ee080abcdef002c1d2e3f4a5b6c7d",
			WWNVendorExtension: "0x2c1d2e3f4a5b6c7d", HCTL: "0:2:1:0", ByPath: "/dev/disk/by-path/pci-0000:65:00.0-scsi-0:2:1:0",
		},
	}, got.Disks)
}

func TestHintsChooseAmongTheDisksOfAServer(t *testing.T) {
	for _, c := range []struct {
		hints map[string]any
		want  string
	}{
		{nil, "/dev/sda"},
		{map[string]any{"rotational": true}, "/dev/sdb"},
		{map[string]any{"tran": "nvme"}, "/dev/nvme0n1"},
		{map[string]any{"name": "/dev/disk/by-id/ata-micron"}, "/dev/sda"},
		{map[string]any{"wwn_vendor_extension": "0x2c1d2e3f4a5b6c7d"}, "/dev/sdb"},
		{map[string]any{"hctl": "2:0:0:0"}, "/dev/sda"},
		{map[string]any{"model": "<in> samsung"}, "/dev/nvme0n1"},
		{map[string]any{"serial": "X"}, ""},
	} {
		h, err := rootdevice.Parse(c.hints)
		require.NoError(t, err)
		d, _, known := h.Choose(server(t).Candidates())
		require.True(t, known)
		require.Equal(t, c.want, d.Name, "%v", c.hints)
	}
}

// A virtual machine or a container describes little. What is missing is no error.
func TestAMachineThatTellsNothing(t *testing.T) {
	got := hardware.Machine{Root: t.TempDir()}.Inventory()
	require.Empty(t, got.Disks)
	require.Empty(t, got.Interfaces)
	b, err := json.Marshal(got)
	require.NoError(t, err)
	require.Contains(t, string(b), `"current_boot_mode":"bios"`)
}

// The machine that runs the test is a real one.
func TestThisMachine(t *testing.T) {
	got := hardware.Machine{Root: "/"}.Inventory()
	require.Positive(t, int64(got.CPU.Count))
	require.Positive(t, int64(got.Memory.Total))
	require.NotEmpty(t, got.Hostname)
}
