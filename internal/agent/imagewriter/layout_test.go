//go:build linux

package imagewriter_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/fat32"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/agent/imagewriter"
)

// rootUUID is that of the file system in rootImage.
const rootUUID = "8a1d2a4e-6f7f-4f0f-9a39-0f1c2a3b4c5d"

// rootImage returns an ext4 file system with a boot loader, as distributions leave one in images of a partition.
func rootImage(t *testing.T, files map[string]string) []byte {
	t.Helper()
	tree, image := t.TempDir(), filepath.Join(t.TempDir(), "root.img")
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), []byte(content), 0o644))
	}
	mke2fs, err := exec.LookPath("mke2fs")
	if err != nil {
		mke2fs = "/usr/sbin/mke2fs"
	}
	out, err := exec.CommandContext(t.Context(), mke2fs, "-q", "-t", "ext4", "-U", rootUUID, "-L", "rootfs", "-d", tree, image, "24M").CombinedOutput()
	require.NoError(t, err, string(out))
	return content(t, image)
}

func withLoader() map[string]string {
	return map[string]string{
		"boot/grub/grub.cfg": "linux /boot/vmlinuz", "boot/efi/EFI/debian/shimx64.efi": strings.Repeat("shim", 300_000), "boot/efi/EFI/debian/grubx64.efi": "grub",
		"etc/os-release": "ID=debian\n",
	}
}

// partitioned writes an image of a partition to a new disk.
func partitionedDisk(t *testing.T, image []byte, size int64, l imagewriter.Layout) (*imagewriter.Target, string, error) {
	t.Helper()
	path := disk(t, 1<<20)
	require.NoError(t, os.Truncate(path, size))
	d, err := imagewriter.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	w := imagewriter.Writer{Client: http.DefaultClient, Scratch: t.TempDir()}
	out, err := w.WritePartition(t.Context(), serve(t, image), l, d)
	if err == nil {
		require.Equal(t, rootUUID, string(out.RootUUID))
		require.Regexp(t, `^[0-9A-F]{4}-[0-9A-F]{4}$`, string(out.EFISystem))
	}
	return d, path, err
}

func beginning(t *testing.T, path string, n int) []byte {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	b := make([]byte, n)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	return b
}

func TestAnImageOfAPartition(t *testing.T) {
	t.Parallel()
	image := rootImage(t, withLoader())
	d, path, err := partitionedDisk(t, image, 4<<30, imagewriter.Layout{Root: 1 << 30, Swap: 64 * mib, Ephemeral: 256 * mib})
	require.NoError(t, err)
	for range 2 { // again after a crash
		require.NoError(t, d.InstallLoaders(rootUUID))
	}
	require.NoError(t, d.WriteConfigDrive(drive(100<<10)))

	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	const espStart, espSize = mib, 550 * mib
	const ephemeral, swap, root = espStart + espSize, espStart + espSize + 256*mib, espStart + espSize + 320*mib
	at := func(off int64, n int) []byte {
		b := make([]byte, n)
		_, err := f.ReadAt(b, off)
		require.NoError(t, err)
		return b
	}
	require.Equal(t, image, at(root, len(image)))
	require.Equal(t, "SWAPSPACE2", string(at(swap+4086, 10)))
	esp, err := fat32.Read(file.New(f, true), espSize, espStart, 512)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"/EFI/BOOT/BOOTX64.EFI": withLoader()["boot/efi/EFI/debian/shimx64.efi"], "/EFI/BOOT/grubx64.efi": "grub",
		"/EFI/debian/grub.cfg": "search --no-floppy --fs-uuid --set=root " + rootUUID + "\nset prefix=($root)/boot/grub\nconfigfile $prefix/grub.cfg\n",
	} {
		b, err := esp.ReadFile(name)
		require.NoError(t, err, name)
		require.Equal(t, want, string(b), name)
	}
	part, found := d.ESP()
	require.True(t, found)
	require.Equal(t, 1, part.Number)

	// The tools of the kernel's authors find nothing wrong.
	dump := filepath.Join(t.TempDir(), "ephemeral")
	require.NoError(t, os.WriteFile(dump, at(ephemeral, 256*mib), 0o600))
	out, err := exec.CommandContext(t.Context(), "/usr/sbin/e2fsck", "-fn", dump).CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestWhatIsNoImageOfAPartition(t *testing.T) {
	t.Parallel()
	d, _, err := partitionedDisk(t, rootImage(t, map[string]string{"etc/hostname": "x"}), 2<<30, imagewriter.Layout{Root: 1 << 30})
	require.NoError(t, err)
	require.ErrorContains(t, d.InstallLoaders(rootUUID), "the image has no boot loader for UEFI")
	require.ErrorIs(t, d.InstallLoaders("11111111-6f7f-4f0f-9a39-0f1c2a3b4c5d"), imagewriter.ErrNoRoot)

	_, path, err := partitionedDisk(t, raw(), 2<<30, imagewriter.Layout{Root: 1 << 30})
	require.ErrorContains(t, err, "it is no image of a partition")
	require.Equal(t, make([]byte, mib), beginning(t, path, mib), "nothing half written boots")

	for words, l := range map[string]imagewriter.Layout{
		"the partitions need":        {Root: 2 << 30},
		"too small for the image":    {Root: 8 * mib},
		"is too small for the image": {Root: 1 << 30, Swap: 1 << 30},
	} {
		_, path, err = partitionedDisk(t, rootImage(t, withLoader()), 2<<30, l)
		require.ErrorContains(t, err, words)
		require.Equal(t, "DeviceNotFound", failure.As(err).Class)
		require.Equal(t, "old!old!", string(beginning(t, path, 8)), "the disk is as it was")
	}
}
