//go:build linux

package imagewriter

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/ext4"
	"github.com/stretchr/testify/require"
)

// The kernel and the library read the same. The files have sizes at which the library fails if it is used as it offers itself.
func TestTheKernelAndTheLibraryReadAFileSystem(t *testing.T) {
	t.Parallel()
	tree, image := t.TempDir(), filepath.Join(t.TempDir(), "image")
	files := map[string][]byte{"a": nil, "b": []byte("b"), "c": bytes.Repeat([]byte("c"), 1048504), "d/e": bytes.Repeat([]byte("0123456789"), 383532)}
	for name, b := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), b, 0o600))
	}
	require.NoError(t, os.Symlink("../d/e", filepath.Join(tree, "d/link")))
	require.NoError(t, os.Symlink("loop", filepath.Join(tree, "loop")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(tree, "out")))
	const start, size = 3 << 20, 32 << 20
	whole, err := os.OpenFile(image, os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	require.NoError(t, whole.Close())
	out, err := exec.CommandContext(t.Context(), "/usr/sbin/mke2fs", "-q", "-t", "ext4", "-d", tree, image, "32M").CombinedOutput()
	require.NoError(t, err, string(out))
	b, err := os.ReadFile(image)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(image, append(make([]byte, start), b...), 0o600))
	d, err := Open(image)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	part := d.section(partition{start, size})
	read, err := ext4.Read(file.New(d.f, true), size, start, 512)
	require.NoError(t, err)
	ways := map[string]fs.FS{"library": linked{read}}
	byKernel, done, err := part.mountLoop("ext4")
	if err == nil {
		ways["kernel"] = byKernel
		t.Cleanup(func() { require.NoError(t, done()) })
	} else {
		t.Logf("the kernel has no loop device for this test: %v", err)
	}
	for way, image := range ways {
		for name, want := range files {
			got, err := fs.ReadFile(image, name)
			require.NoError(t, err, "%s %s", way, name)
			require.True(t, bytes.Equal(want, got), "%s %s", way, name)
		}
		got, err := fs.ReadFile(image, "d/link")
		require.NoError(t, err, way)
		require.Len(t, got, len(files["d/e"]))
		for _, name := range []string{"loop", "out", "nosuch"} {
			_, err := fs.ReadFile(image, name)
			require.Error(t, err, "%s %s", way, name)
		}
	}
}
