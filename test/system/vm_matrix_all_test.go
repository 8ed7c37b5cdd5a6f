package system_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/fat16"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/iso9660"
	"go.temper.dev/temper/internal/ramdisk"
	"go.temper.dev/temper/internal/ramdisk/iso"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/testenv"
)

// signed returns the boot loaders of a CD, which Microsoft and Debian have signed, by their paths.
func signed(t *testing.T, cd string) map[string][]byte {
	t.Helper()
	f, err := os.Open(cd)
	require.NoError(t, err)
	defer f.Close()
	at, err := iso9660.Find(f, iso.ESPFile)
	require.NoError(t, err)
	esp := filepath.Join(t.TempDir(), "esp")
	b := make([]byte, at.Size)
	_, err = f.ReadAt(b, at.Offset)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(esp, b, 0o600))
	d, err := file.OpenFromPath(esp, true)
	require.NoError(t, err)
	fs, err := fat16.Read(d, at.Size, 0, 512)
	require.NoError(t, err)
	out := map[string][]byte{}
	for _, name := range []string{"/EFI/BOOT/BOOTX64.EFI", "/EFI/BOOT/grubx64.efi", "/EFI/BOOT/mmx64.efi"} {
		r, err := fs.OpenFile(name, os.O_RDONLY)
		require.NoError(t, err)
		var content bytes.Buffer
		_, err = content.ReadFrom(r)
		require.NoError(t, err)
		out[name] = content.Bytes()
	}
	return out
}

// worker waits until a step of an operation runs, and returns its conductor.
func (v *vm) worker(operation, step string) (conductor string) {
	v.t.Helper()
	eventually(v.t, patience, func() error {
		o, err := v.operation(operation)
		if err != nil {
			return err
		}
		for _, s := range o.Steps {
			if s.Interface+"."+s.Step == step && s.State == "running" && s.Conductor != nil {
				conductor = *s.Conductor
				return nil
			}
		}
		return fmt.Errorf("%s does not run yet", step)
	})
	return conductor
}

// With Secure Boot on, a machine with an NVMe disk boots Temper's ramdisk, whose conductor is killed while the image is written, and then
// the image, whose boot loader is signed, too.
func TestASecurelyBootedMachineOutlivesItsConductor(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	home := newHome(t)
	n := virtual(t, "vm-secure", builtISO(t), sim.Config{Firmware: sim.UEFISecure, NVMe: true}, "TEMPER_ALLOW_LOOPBACK=true")
	system := builtRamdisk(t, "./test/system/guest", guestLine)
	files := signed(t, filepath.Join(system, ramdisk.ISOFile))
	files["/boot/grub/grub.cfg"] = []byte("set timeout=0\nmenuentry guest {\nlinux /vmlinuz console=ttyS0 " + guestLine + "\ninitrd /initrd\n}\n")
	files["/vmlinuz"], files["/initrd"] = content(t, filepath.Join(system, ramdisk.KernelFile)), content(t, filepath.Join(system, ramdisk.InitrdFile))
	n.diskImage(bootable(t, 384<<20, files)) // so large that it is written for seconds
	deploy := n.provision("active", map[string]any{"configdrive": map[string]any{"meta_data": map[string]any{"hostname": "secure"}, "user_data": home.url}})
	n.prints("Secure boot enabled")
	killed := n.worker(deploy, "deploy.write_image")
	die(t, n.conductors[killed])
	n.done(deploy, "active")
	require.Contains(t, home.called(n)["openstack/latest/meta_data.json"], `"secure"`)
	n.prints("Secure boot enabled")
	o, err := n.operation(deploy)
	require.NoError(t, err)
	for _, s := range o.Steps {
		require.False(t, s.Step == "write_image" && *s.Conductor == killed, "another conductor has gone on")
	}
	n.did("On Off->On", "guest_off On->Off", "On Off->On", "guest_off On->Off")
}

// An image that is only the file system of a system boots by UEFI, with Secure Boot on: the agent partitions the disk, and finds the boot
// loaders in the image.
func TestAVirtualMachineBootsAnImageOfAPartition(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	home := newHome(t)
	n := virtual(t, "vm-partition", builtISO(t), sim.Config{Firmware: sim.UEFISecure}, "TEMPER_ALLOW_LOOPBACK=true")
	system := builtRamdisk(t, "./test/system/guest", guestLine)
	tree, image := t.TempDir(), filepath.Join(t.TempDir(), "root.img")
	files := map[string][]byte{
		"vmlinuz": content(t, filepath.Join(system, ramdisk.KernelFile)), "initrd": content(t, filepath.Join(system, ramdisk.InitrdFile)),
		"boot/grub/grub.cfg": []byte("set timeout=0\nmenuentry guest {\nlinux /vmlinuz console=ttyS0 " + guestLine + "\ninitrd /initrd\n}\n"),
	}
	for name, loader := range signed(t, filepath.Join(system, ramdisk.ISOFile)) {
		files["boot/efi/EFI/debian/"+map[string]string{"BOOTX64.EFI": "shimx64.efi"}[filepath.Base(name)]+map[string]string{
			"grubx64.efi": "grubx64.efi", "mmx64.efi": "mmx64.efi",
		}[filepath.Base(name)]] = loader
	}
	for name, b := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), b, 0o600))
	}
	out, err := exec.CommandContext(t.Context(), "/usr/sbin/mke2fs", "-q", "-t", "ext4", "-d", tree, image, "192M").CombinedOutput()
	require.NoError(t, err, string(out))
	n.diskImage(content(t, image))
	n.patch("instance_info/image_type", "partition")
	n.patch("instance_info/root_gb", 2)
	n.patch("instance_info/swap_mb", 64)
	deploy := n.provision("active", map[string]any{"configdrive": map[string]any{"meta_data": map[string]any{"hostname": "part-1"}, "user_data": home.url}})
	n.prints("UEFI starts the image first")
	n.done(deploy, "active")
	require.Contains(t, home.called(n)["openstack/latest/meta_data.json"], `"part-1"`)
	n.prints("Secure boot enabled")
	n.did("On Off->On", "guest_off On->Off", "On Off->On", "guest_off On->Off")
}

// The kernel's ioctls reach a disk: QEMU's NVMe disks have the command format.
func TestADiskOfAVirtualMachineErasesItself(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	n := virtual(t, "vm-format", builtISO(t), sim.Config{Firmware: sim.UEFI, NVMe: true})
	f, err := os.OpenFile(filepath.Join(n.dir, "qemu", n.server+".disk"), os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	defer f.Close()
	const size = 8 << 30
	require.NoError(t, f.Truncate(size))
	secret := bytes.Repeat([]byte("an earlier tenant's secret "), 4096)
	places := []int64{0, 3<<30 + 4096, size - int64(len(secret))}
	for _, at := range places {
		_, err = f.WriteAt(secret, at)
		require.NoError(t, err)
	}
	n.provisioned("manage", "manageable")
	clean := n.provision("clean", map[string]any{"clean_steps": []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}})
	n.done(clean, "manageable")
	require.Regexp(t, `nvme0n1.* was erased by NVMe format: [0-9.]+ GB in .*, verified at 64 places`, fmt.Sprint(n.timeline(clean)))
	for _, at := range places {
		b := make([]byte, len(secret))
		_, err := f.ReadAt(b, at)
		require.NoError(t, err)
		require.Equal(t, make([]byte, len(b)), b, "at %d", at)
	}
}

// What an earlier tenant has left does not boot, an overwrite reaches every byte of it, and a qcow2 image takes its place.
func TestAnEarlierTenantsDiskIsOverwritten(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	testenv.Need(t, "qemu-img", "qemu-utils")
	n := virtual(t, "vm-old", builtISO(t), sim.Config{Firmware: sim.BIOS})
	disk := filepath.Join(n.dir, "qemu", n.server+".disk")
	old := partitioned()
	copy(old, restarting())
	secret := bytes.Repeat([]byte("an earlier tenant's secret "), 4096)
	f, err := os.OpenFile(disk, os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	defer f.Close()
	const size = 8 << 30
	require.NoError(t, f.Truncate(size))
	places := []int64{1 << 20, 3<<30 + 4096, size - int64(len(secret))}
	_, err = f.WriteAt(old, 0)
	require.NoError(t, err)
	for _, at := range places {
		_, err = f.WriteAt(secret, at)
		require.NoError(t, err)
	}
	n.provisioned("manage", "manageable")
	clean := n.provision("clean", map[string]any{"clean_steps": []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}})
	n.done(clean, "manageable")
	n.did("On Off->On", "ForceOff On->Off") // no guest_reset: the old system has not booted
	require.Regexp(t, `vda.* was overwritten with zeros: [0-9.]+ GB in .*, verified at 64 places`, fmt.Sprint(n.timeline(clean)))
	for _, at := range append(places, 0) {
		b := make([]byte, len(secret))
		_, err := f.ReadAt(b, at)
		require.NoError(t, err)
		require.Equal(t, make([]byte, len(b)), b, "at %d", at)
	}

	dir := t.TempDir()
	raw, packed := filepath.Join(dir, "raw"), filepath.Join(dir, "qcow2")
	require.NoError(t, os.WriteFile(raw, old, 0o600))
	out, err := exec.CommandContext(t.Context(), "qemu-img", "convert", "-c", "-f", "raw", "-O", "qcow2", raw, packed).CombinedOutput()
	require.NoError(t, err, string(out))
	n.done(n.provision("provide", nil), "available")
	n.diskImage(content(t, packed))
	n.patch("instance_info/image_disk_format", "qcow2")
	n.done(n.provision("active", nil), "active")
	n.did("On Off->On", "ForceOff On->Off", "On Off->On", "guest_off On->Off", "On Off->On", "guest_reset On->On")
}
