package configdrive

import (
	"encoding/binary"

	"go.temper.dev/temper/internal/iso9660"
)

// The sector of Joliet's descriptor, and an offset in it (ECMA-119 8.5).
const (
	jolietDescriptor = 17
	rootExtentAt     = 156 + 2
)

// linkJoliet corrects the records of folders in the Joliet tree. go-diskfs lets them point to
// the folders of the other tree, where names are short and in another encoding. Only readers
// without Rock Ridge (Windows) use the Joliet tree. The first record of a folder, which is about
// itself, has the right location and size, so it is copied into the parent's record.
func linkJoliet(image []byte) {
	root := binary.LittleEndian.Uint32(image[jolietDescriptor*iso9660.SectorSize+rootExtentAt:])
	folder := func(n int) []byte { return image[(int(root)+n)*iso9660.SectorSize:] }
	const self, first = 0, 2 * 34 // a folder begins with records of itself and its parent, 34 bytes each
	point := func(parent, record, child int) {
		copy(folder(parent)[record+2:record+18], folder(child)[self+2:self+18])
	}
	// In the order in which they were written: /, openstack, its versions.
	// None of them is larger than a sector.
	point(0, first, 1)
	record := first
	for n := range versions {
		point(1, record, 2+n)
		record += int(folder(1)[record])
	}
}
