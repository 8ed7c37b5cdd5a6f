package disk_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim/disk"
)

func write(t *testing.T, d *disk.Disk, b []byte) disk.Content {
	t.Helper()
	w, err := d.Create()
	require.NoError(t, err)
	_, err = w.Write(b)
	require.NoError(t, err)
	c, err := w.Commit()
	require.NoError(t, err)
	return c
}

func TestWhatWasWrittenReadsBack(t *testing.T) {
	d := disk.New(filepath.Join(t.TempDir(), "a", "disk"), 1<<20)
	image := bytes.Repeat([]byte{7}, 1000)
	image[440], image[443] = 0x01, 0xab
	sum := sha256.Sum256(image)
	want := disk.Content{Size: 1000, SHA256: hex.EncodeToString(sum[:])}
	require.Equal(t, want, write(t, d, image))
	require.Equal(t, &want, d.State().Image)
	require.Equal(t, "0xab070701", d.Identifier())
}

func TestADiskEndsWhereItEnds(t *testing.T) {
	d := disk.New(filepath.Join(t.TempDir(), "disk"), 100)
	w, err := d.Create()
	require.NoError(t, err)
	n, err := w.Write(make([]byte, 101))
	require.Equal(t, 100, n)
	require.ErrorIs(t, err, syscall.ENOSPC)
	w.Abort()
	require.Nil(t, d.State().Image, "a half-written disk holds no image")
}

func TestANewImageReplacesTheOldOneAtOnce(t *testing.T) {
	d := disk.New(filepath.Join(t.TempDir(), "disk"), 100)
	write(t, d, []byte("old"))
	require.NoError(t, d.WriteConfigDrive([]byte("cd")))
	_, err := d.Create()
	require.NoError(t, err)
	require.Equal(t, disk.State{}, d.State())
}

func TestErasingMetadataZeroesBothEndsAndNothingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	d := disk.New(path, 1<<30)
	write(t, d, bytes.Repeat([]byte{1}, 5<<20))
	require.NoError(t, d.WriteConfigDrive([]byte("cd")))
	require.NoError(t, d.EraseMetadata())
	require.Equal(t, disk.State{}, d.State())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	mib := make([]byte, 1<<20)
	require.True(t, bytes.Equal(mib, got[:1<<20]), "start")
	require.True(t, bytes.Equal(mib, got[4<<20:]), "end")
	require.Equal(t, bytes.Repeat([]byte{1}, 3<<20), got[1<<20:4<<20])
	require.NoFileExists(t, path+".configdrive")
}

func TestErasingAnEmptyDiskIsNoError(t *testing.T) {
	d := disk.New(filepath.Join(t.TempDir(), "disk"), 1<<30)
	require.NoError(t, d.EraseMetadata())
	require.NoError(t, d.Erase())
	require.Empty(t, d.Identifier())
}

func TestARestoredImageNeedsItsBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	d := disk.New(path, 1<<30)
	write(t, d, []byte("image"))
	state := d.State()

	again := disk.New(path, 1<<30)
	again.Restore(state)
	require.Equal(t, state, again.State())

	require.NoError(t, d.Erase())
	again.Restore(state)
	require.Nil(t, again.State().Image)
}
