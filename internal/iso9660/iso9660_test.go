package iso9660_test

import (
	"bytes"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/iso9660"
)

func TestNoCD(t *testing.T) {
	for _, image := range [][]byte{nil, make([]byte, 100), make([]byte, 100_000)} {
		_, err := iso9660.Find(bytes.NewReader(image), "a")
		require.Error(t, err)
		require.NotErrorIs(t, err, fs.ErrNotExist)
	}
}

// An image of whose folders one byte after the other is another one is read without a panic.
func FuzzFind(f *testing.F) {
	image := make([]byte, 19*iso9660.SectorSize)
	copy(image[16*iso9660.SectorSize:], "\x01CD001")
	root := image[16*iso9660.SectorSize+156:]
	root[0], root[2], root[10], root[11], root[25] = 34, 18, 0, 8, 2
	record := image[18*iso9660.SectorSize:]
	record[0], record[2], record[10], record[32], record[33] = 44, 18, 5, 1, 'A'
	copy(record[34:], "NM\x06\x01\x00a")
	f.Add(image)
	found, err := iso9660.Find(bytes.NewReader(image), "a")
	if err != nil || found.Size != 5 {
		f.Fatal(found, err)
	}
	f.Fuzz(func(_ *testing.T, image []byte) {
		_, _ = iso9660.Find(bytes.NewReader(image), "boot/grub/grub.cfg") // an error or a place, but it returns
	})
}
