package iso_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem"
	"github.com/diskfs/go-diskfs/filesystem/fat16"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/ramdisk/iso"
)

const sector = 2048

// a CD, with files that are not a whole number of sectors.
func image(t *testing.T) iso.Image {
	kernel := filepath.Join(t.TempDir(), "kernel")
	require.NoError(t, os.WriteFile(kernel, bytes.Repeat([]byte("kernel "), 1000), 0o600))
	return iso.Image{
		Label: "TEMPER_TEST",
		Files: []iso.File{
			{Path: "vmlinuz", From: kernel},
			{Path: "boot/grub/grub.cfg", Content: []byte("set timeout=0\n")},
			{Path: "isolinux/isolinux.bin", Content: bytes.Repeat([]byte("isolinux"), 1000)},
		},
		UEFI: []iso.File{
			{Path: "EFI/BOOT/BOOTX64.EFI", Content: bytes.Repeat([]byte("shim"), 300_000)},
			{Path: "EFI/BOOT/grubx64.efi", Content: []byte("grub")},
		},
		BIOS: "isolinux/isolinux.bin",
	}
}

// content reads a file of a CD or of the file system for UEFI.
func content(t *testing.T, fs filesystem.FileSystem, path string) []byte {
	t.Helper()
	f, err := fs.OpenFile(path, os.O_RDONLY)
	require.NoError(t, err, path)
	b, err := io.ReadAll(f)
	require.NoError(t, err, path)
	return b
}

func TestACDHasItsFilesForBothKindsOfFirmware(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cd.iso")
	want := image(t)
	require.NoError(t, iso.Write(name, want))
	cd, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Zero(t, len(cd)%sector)

	b, err := file.OpenFromPath(name, true)
	require.NoError(t, err)
	defer b.Close()
	fs, err := iso9660.Read(b, 0, 0, sector)
	require.NoError(t, err)
	require.Equal(t, "TEMPER_TEST", strings.TrimRight(fs.Label(), "\x00"))
	require.Equal(t, bytes.Repeat([]byte("kernel "), 1000), content(t, fs, "/vmlinuz"))
	require.Equal(t, "set timeout=0\n", string(content(t, fs, "/boot/grub/grub.cfg")))
	for _, folder := range []string{".", "boot", "boot/grub", "isolinux"} {
		entries, err := fs.ReadDir(folder)
		require.NoError(t, err, folder)
		for _, e := range entries {
			info, err := e.Info()
			require.NoError(t, err, folder)
			require.Equal(t, 1980, info.ModTime().Year(), "the time of %s is that of the build", e.Name())
		}
	}

	// The boot record stands where SeaBIOS looks for it (El Torito 1.0, figure 3), and its catalog has an entry for each.
	record := cd[17*sector:]
	require.Equal(t, "\x00CD001\x01EL TORITO SPECIFICATION", string(record[:30]))
	catalog := cd[binary.LittleEndian.Uint32(record[0x47:])*sector:]
	const platform, entry, header = 1, 32, 64
	require.Zero(t, catalog[platform], "the first entry is for a BIOS")
	require.Equal(t, []byte{0x91, 0xef}, catalog[header:header+2], "the second entry is the last, and for UEFI")
	start := func(entry []byte) []byte {
		require.Equal(t, []byte{0x88, 0}, entry[:2], "a server can boot from it, without emulation of a floppy")
		return cd[binary.LittleEndian.Uint32(entry[8:])*sector:]
	}

	// ISOLINUX finds itself by the table at its byte 8: where the CD's descriptor stands, and itself, and how long it is.
	program := start(catalog[entry:])
	require.EqualValues(t, 16, binary.LittleEndian.Uint32(program[8:]))
	require.EqualValues(t, (len(cd)-len(program))/sector, binary.LittleEndian.Uint32(program[12:]))
	require.EqualValues(t, 8000, binary.LittleEndian.Uint32(program[16:]))

	esp := filepath.Join(t.TempDir(), "esp")
	require.NoError(t, os.WriteFile(esp, start(catalog[header+32:])[:8<<20], 0o600))
	disk, err := file.OpenFromPath(esp, true)
	require.NoError(t, err)
	defer disk.Close()
	fat, err := fat16.Read(disk, 8<<20, 0, 512)
	require.NoError(t, err)
	for _, f := range want.UEFI {
		require.Equal(t, f.Content, content(t, fat, "/"+f.Path), f.Path)
	}
}

// Neither the age of files nor the environment of the build is in a CD.
func TestTheSameCDTwice(t *testing.T) {
	dir := t.TempDir()
	want := image(t)
	var cds [][]byte
	for i, age := range []string{"", "1000000000"} {
		if age != "" {
			t.Setenv("SOURCE_DATE_EPOCH", age)
			require.NoError(t, os.Chtimes(want.Files[0].From, time.Unix(1e9, 0), time.Unix(1e9, 0)))
		}
		name := filepath.Join(dir, []string{"a", "b"}[i])
		require.NoError(t, iso.Write(name, want))
		cd, err := os.ReadFile(name)
		require.NoError(t, err)
		cds = append(cds, cd)
		require.Equal(t, age, os.Getenv("SOURCE_DATE_EPOCH"))
	}
	require.True(t, bytes.Equal(cds[0], cds[1]))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2, "nothing is left of the work")
}

func TestANameThatIsTooLongForACD(t *testing.T) {
	for _, path := range []string{strings.Repeat("a", 31), "boot/.d/a.cfg", "Kernel", "a.configuration", "/vmlinuz", "../vmlinuz"} {
		name := filepath.Join(t.TempDir(), "cd.iso")
		err := iso.Write(name, iso.Image{Label: "TEMPER_TEST", Files: []iso.File{{Path: path}}, BIOS: path})
		require.ErrorContains(t, err, "a CD can't have a file "+path)
		require.NoFileExists(t, name)
	}
}
