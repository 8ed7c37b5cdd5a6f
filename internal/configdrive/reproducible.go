package configdrive

import (
	"bytes"
	"encoding/binary"
)

// The functions below change an image that go-diskfs (1.9.4) has written, at offsets that
// ECMA-119 and the Rock Ridge protocol define.

// Sectors of the volume descriptors, and offsets in them (ECMA-119 8.4, 8.5).
const (
	primaryDescriptor = 16
	jolietDescriptor  = 17
	pathTableAt       = 140 // location of the type L path table
	rootExtentAt      = 156 + 2
	datesAt           = 813 // creation, modification, expiration, effective
)

// removeBuildTraces removes dates, owner and group (mkisofs -r), so that the image depends on
// its files only, and not on who built it and when.
func removeBuildTraces(image []byte) {
	const day, unset = "1980010100000000\x00", "0000000000000000\x00"
	for _, sector := range []int{primaryDescriptor, jolietDescriptor} {
		copy(image[sector*blockSize+datesAt:], day+day+unset+unset)
	}
	// The folders are between the root folder and the path tables. This range contains no
	// file contents that could look like an entry.
	pvd := image[primaryDescriptor*blockSize:]
	from := binary.LittleEndian.Uint32(pvd[rootExtentAt:]) * blockSize
	to := binary.LittleEndian.Uint32(pvd[pathTableAt:]) * blockSize
	folders := image[from:to]
	stamp := []byte{80, 1, 1, 0, 0, 0, 0}
	eachEntry(folders, "TF\x1a\x01\x0e", 26, func(e []byte) { // three short dates
		copy(e[5:], bytes.Repeat(stamp, 3))
	})
	eachEntry(folders, "PX\x2c\x01", 44, func(e []byte) {
		clear(e[20:36]) // uid and gid, each in both byte orders
	})
}

// eachEntry calls change for every system use entry that begins with header.
func eachEntry(folders []byte, header string, size int, change func([]byte)) {
	for {
		at := bytes.Index(folders, []byte(header))
		if at < 0 || at+size > len(folders) {
			return
		}
		change(folders[at : at+size])
		folders = folders[at+size:]
	}
}

// linkJoliet corrects the records of folders in the Joliet tree. go-diskfs lets them point to
// the folders of the other tree, where names are short and in another encoding. Only readers
// without Rock Ridge (Windows) use the Joliet tree. The first record of a folder, which is about
// itself, has the right location and size, so it is copied into the parent's record.
func linkJoliet(image []byte) {
	root := binary.LittleEndian.Uint32(image[jolietDescriptor*blockSize+rootExtentAt:])
	folder := func(n int) []byte { return image[(int(root)+n)*blockSize:] }
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
