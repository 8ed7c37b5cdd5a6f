//go:build linux

package imagewriter_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/imagewriter"
)

// A loop device is a block device as any disk. Only root may make one, and a container often has none.
func TestABlockDevice(t *testing.T) {
	path := disk(t, 100*mib)
	out, err := exec.Command("losetup", "--find", "--show", path).CombinedOutput()
	if err != nil {
		t.Skipf("NOT TESTED: writing to a block device, because losetup makes no loop device here: %v %s", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })

	image := gptImage(t)
	require.NoError(t, write(t, serve(t, image), device))
	d, err := imagewriter.Open(device)
	require.NoError(t, err)
	require.Equal(t, int64(100*mib), d.Size())
	require.NoError(t, d.WriteConfigDrive(drive(40<<10)))

	_, err = imagewriter.Open(device)
	require.ErrorContains(t, err, "is in use on this machine", "two can't write one disk")
	require.NoError(t, d.Close())
	require.NoError(t, exec.Command("sync", path).Run())
	got := content(t, path)
	require.True(t, bytes.Equal(image[mib:8*mib-33*512], got[mib:8*mib-33*512]))
	require.Equal(t, "EFI PART", string(got[len(got)-512:len(got)-504]))

	if out, err := exec.Command("mkfs.ext4", "-q", device).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: a disk that is mounted: %v %s", err, out)
	}
	at := filepath.Join(t.TempDir(), "mounted")
	require.NoError(t, os.Mkdir(at, 0o700))
	if out, err := exec.Command("mount", device, at).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: a disk that is mounted: %v %s", err, out)
	}
	defer func() { _ = exec.Command("umount", at).Run() }()
	_, err = imagewriter.Open(device)
	require.ErrorContains(t, err, "mounted or a part of another device")
}
