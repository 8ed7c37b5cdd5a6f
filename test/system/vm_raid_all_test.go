package system_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/ramdisk"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/testenv"
)

// A machine with two disks gets software RAID 1 in a cleaning and a system on it, which boots and has its content when either disk is lost.
func TestADeployedSystemOnSoftwareRAIDBootsWithoutEitherDisk(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	home := newHome(t)
	n := virtual(t, "vm-raid", builtISO(t), sim.Config{Firmware: sim.UEFI, TwoDisks: true}, "TEMPER_ALLOW_LOOPBACK=true")
	require.Equal(t, 202, n.ask("manage", nil).Status)
	n.await("manageable")
	n.patch("raid_interface", "agent")
	n.s.must(t, 204, "PUT", "/v1/nodes/"+n.uuid+"/states/raid", map[string]any{"logical_disks": []any{
		map[string]any{"size_gb": "MAX", "raid_level": "1", "controller": "software", "is_root_volume": true},
	}})
	step := func(name string) any { return map[string]any{"interface": "raid", "step": name} }
	// A second run finds what the first has made, and an erasure makes it again.
	n.done(n.provision("clean", map[string]any{"clean_steps": []any{step("delete_configuration"), step("create_configuration"), step("create_configuration"), map[string]any{"interface": "deploy", "step": "erase_devices_metadata"}}}), "manageable")
	require.Contains(t, string(n.s.must(t, 200, "GET", "/v1/nodes/"+n.uuid, nil).Body), `"raid_level":"1","size_gb":7}`)
	require.Equal(t, 202, n.ask("provide", nil).Status)
	n.await("available")

	program := content(t, filepath.Join(builtRamdisk(t, "./test/system/guest", guestLine), ramdisk.ImageFile))
	n.diskImage(bootable(t, 96<<20, map[string][]byte{"/EFI/BOOT/BOOTX64.EFI": program}))
	n.done(n.provision("active", map[string]any{"configdrive": map[string]any{"meta_data": map[string]any{"hostname": "db-7"}, "user_data": home.url}}), "active")
	require.Contains(t, home.called(n)["openstack/latest/meta_data.json"], `"db-7"`)
	n.prints("guest: /dev/md0 has 2 disks")

	first := filepath.Join(n.dir, "qemu", n.server+".disk")
	for _, disk := range []string{first, first + "2"} {
		n.done(n.power("power off"), "active")
		require.NoError(t, os.Rename(disk, disk+".pulled")) // an empty one takes its place
		n.done(n.power("power on"), "active")
		require.Contains(t, home.called(n)["openstack/latest/meta_data.json"], `"db-7"`, disk)
		n.prints("guest: /dev/md0 has 1 disks")
		n.done(n.power("power off"), "active")
		require.NoError(t, os.Rename(disk+".pulled", disk))
	}
}
