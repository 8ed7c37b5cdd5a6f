//go:build linux

package imagewriter_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/diskfs/go-diskfs/partition/gpt"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/imagewriter"
)

// drive returns the beginning of an ISO 9660 image with the label of a config drive.
func drive(n int) []byte {
	b := make([]byte, n)
	copy(b[32<<10:], "\x01CD001\x01")
	copy(b[32<<10+40:], "config-2                        ")
	copy(b[34<<10:], "what cloud-init reads")
	return b
}

// gptImage returns an image of 8 MiB with boot code and a GUID partition table: an EFI system partition and one for Linux.
func gptImage(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	require.NoError(t, os.WriteFile(path, make([]byte, 8*mib), 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	table := gpt.Table{LogicalSectorSize: 512, PhysicalSectorSize: 512, ProtectiveMBR: true, GUID: "5CA3360B-0000-4000-8000-000000000001", Partitions: []*gpt.Partition{
		{Index: 1, Start: 2048, End: 4095, Type: gpt.EFISystemPartition, Name: "EFI", GUID: "5CA3360B-0000-4000-8000-000000000002"},
		{Index: 3, Start: 4096, End: 8191, Type: gpt.LinuxFilesystem, Name: "root", GUID: "5CA3360B-0000-4000-8000-000000000003", Attributes: 1 << 2},
	}}
	require.NoError(t, table.Write(f, 8*mib))
	require.NoError(t, f.Close())
	b := content(t, path)
	copy(b, "boot code")
	binary.LittleEndian.PutUint32(b[440:], 0x12345678)
	copy(b[mib:], "the content of the EFI system partition")
	return b
}

func TestTheBackupOfThePartitionTableMovesToTheEnd(t *testing.T) {
	image := gptImage(t)
	path := disk(t, 100*mib)
	require.NoError(t, write(t, serve(t, image), path))
	require.Equal(t, "EFI PART", string(content(t, path)[100*mib-512:100*mib-504]), "without a config drive, too")

	d, err := imagewriter.Open(path)
	require.NoError(t, err)
	_, found := d.ESP()
	require.True(t, found)
	require.Equal(t, "0x12345678", d.Identifier())
	require.NoError(t, d.WriteConfigDrive(drive(40<<10)))
	require.NoError(t, d.Close())

	b := content(t, path)
	require.Equal(t, "EFI PART", string(b[len(b)-512:len(b)-504]), "the backup header is in the last sector")
	require.Equal(t, uint32(len(b)/512-1), binary.LittleEndian.Uint32(b[446+12:]), "the boot record speaks of the whole disk")
	require.Equal(t, image[:440], b[:440], "the boot code is that of the image")
	require.True(t, bytes.Equal(image[1024:1152], b[1024:1152]), "the entries of the image are as they were")
	require.True(t, bytes.Equal(image[1280:1408], b[1280:1408]), "the entries of the image are as they were")
	require.True(t, bytes.Equal(image[mib:8*mib-33*512], b[mib:8*mib-33*512]))

	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for name, corrupt := range map[string]int{"the table": -1, "the backup": 512} {
		if corrupt > 0 { // without the first header the second is read
			w, err := os.OpenFile(path, os.O_RDWR, 0)
			require.NoError(t, err)
			_, err = w.WriteAt([]byte("broken!!"), int64(corrupt))
			require.NoError(t, err)
			require.NoError(t, w.Close())
		}
		table, err := gpt.Read(f, 512, 512)
		require.NoError(t, err, name)
		require.Equal(t, "5CA3360B-0000-4000-8000-000000000001", table.GUID)
		require.Len(t, table.Partitions, 3, name)
		p := table.Partitions[1]
		require.Equal(t, "config-2", p.Name)
		require.Equal(t, 2, p.Index, "the first free number")
		require.Zero(t, p.Start%2048)
		require.Equal(t, uint64(64*mib), (p.End-p.Start+1)*512)
		require.True(t, bytes.Equal(drive(40<<10), b[p.Start*512:p.Start*512+40<<10]))
	}
}

func TestAConfigDriveFindsItsPlace(t *testing.T) {
	mbr := func(entries ...uint32) []byte { // start and sectors of each
		b := make([]byte, 8*mib)
		for i := 0; i < len(entries); i += 2 {
			e := b[446+8*i:]
			e[4] = 0x83
			binary.LittleEndian.PutUint32(e[8:], entries[i])
			binary.LittleEndian.PutUint32(e[12:], entries[i+1])
		}
		b[510], b[511] = 0x55, 0xaa
		return b
	}
	own := mbr(2048, 2048, 8192, 4096)
	copy(own[4*mib:], drive(40<<10))
	full := mbr(2048, 10, 2058, 10, 2068, 10, 2078, 10)
	late := gptImage(t)
	for name, c := range map[string]struct {
		image []byte
		size  int
		at    int // where it is
		words string
	}{
		"MBR":                            {mbr(2048, 2048), 80 * mib, 16 * mib, ""},
		"MBR and little room":            {mbr(2048, 2048), 12 * mib, 11 * mib, ""},
		"a partition that the image has": {own, 80 * mib, 4 * mib, ""},
		"GPT and little room":            {late, 12 * mib, 10 * mib, ""},
		"four partitions":                {full, 80 * mib, 0, "all four partitions"},
		"no table":                       {make([]byte, 8*mib), 80 * mib, 0, "no partition table"},
		"no room":                        {mbr(2048, 8*2048-2048), 8 * mib, 0, "not enough space"},
	} {
		t.Run(name, func(t *testing.T) {
			path := disk(t, c.size)
			require.NoError(t, write(t, serve(t, c.image), path))
			d, err := imagewriter.Open(path)
			require.NoError(t, err)
			err = d.WriteConfigDrive(drive(40 << 10))
			require.NoError(t, d.Close())
			if c.words != "" {
				require.ErrorContains(t, err, c.words)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "what cloud-init reads", string(content(t, path)[c.at+34<<10:c.at+34<<10+21]))
		})
	}
	d, err := imagewriter.Open(disk(t, 8*mib))
	require.NoError(t, err)
	require.ErrorContains(t, d.WriteConfigDrive(make([]byte, 40<<10)), "label config-2")
	require.NoError(t, d.Close())
}
