// Package mediumtest makes images for tests of what serves and boots media.
package mediumtest

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/iso9660"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/ramdisk/iso"
)

// Image writes an image with the files that media fill, as make ramdisk does, and returns its path. Nothing can boot from it. It
// leaves out the file without, "" is none.
func Image(t testing.TB, without string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ramdisk.iso")
	require.NoError(t, Write(name, without))
	return name
}

// Write writes such an image to a file.
func Write(name, without string) error {
	files := []iso.File{
		{Path: "vmlinuz", Content: bytes.Repeat([]byte("kernel "), 30_000)},
		{Path: "initrd", Content: bytes.Repeat([]byte("initrd "), 20_000)},
		{Path: "isolinux/isolinux.bin", Content: bytes.Repeat([]byte("isolinux"), 1000)},
		{Path: "isolinux/ldlinux.c32", Content: []byte("core")},
	}
	for path, content := range medium.Files("console=ttyS0") {
		if path != without {
			files = append(files, iso.File{Path: path, Content: content})
		}
	}
	return iso.Write(name, iso.Image{
		Label: medium.Label, Files: files, BIOS: "isolinux/isolinux.bin",
		UEFI: []iso.File{{Path: "EFI/BOOT/BOOTX64.EFI", Content: []byte("shim")}},
	})
}

// File returns a file of a medium, without the line ends that fill it up.
func File(t testing.TB, m []byte, path string) string {
	t.Helper()
	p, err := iso9660.Find(bytes.NewReader(m), path)
	require.NoError(t, err)
	return string(bytes.TrimRight(m[p.Offset:p.Offset+p.Size], "\n"))
}
