// Package iso9660 changes and reads images of ISO 9660 at places that ECMA-119 and the Rock Ridge protocol (RRIP 1.12) define. It
// does what go-diskfs, which writes our images, leaves open: the same files give the same bytes, and a file has a place.
package iso9660

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// SectorSize is that of a CD, in bytes.
const SectorSize = 2048

// The descriptor of the volume, and offsets in it (ECMA-119 8.4).
const (
	primaryDescriptor = 16 // sector
	pathTableAt       = 140
	rootRecordAt      = 156
	datesAt           = 813 // creation, modification, expiration, effective
)

// Offsets in the record of a file or folder (ECMA-119 9.1).
const (
	extentAt     = 2
	sizeAt       = 10
	flagsAt      = 25
	nameLengthAt = 32
	nameAt       = 33

	folderFlag = 2
)

// folderLimit is the most bytes of a folder that are read.
const folderLimit = 1 << 20

// HeadSize returns how many bytes of an image RemoveTraces has to get: all up to the last folder.
func HeadSize(r io.ReaderAt) (int64, error) {
	d, err := descriptor(r)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint32(d[pathTableAt:])) * SectorSize, nil
}

func descriptor(r io.ReaderAt) ([]byte, error) {
	d := make([]byte, SectorSize)
	if _, err := r.ReadAt(d, primaryDescriptor*SectorSize); err != nil {
		return nil, fmt.Errorf("read the descriptor of the CD: %w", err)
	}
	if !bytes.Equal(d[:6], []byte("\x01CD001")) {
		return nil, errors.New("it is no image of ISO 9660")
	}
	return d, nil
}

// RemoveTraces removes dates, owner and group (mkisofs -r) from an image that go-diskfs (1.9.4) has written, so that it depends on
// its files only, and not on who built it and when. head is the first HeadSize bytes of the image. more are the sectors of further
// descriptors, such as Joliet's.
func RemoveTraces(head []byte, more ...int) {
	const day, unset = "1980010100000000\x00", "0000000000000000\x00"
	for _, s := range append([]int{primaryDescriptor}, more...) {
		copy(head[s*SectorSize+datesAt:], day+day+unset+unset)
	}
	// The folders are between the root folder and the path tables. This range contains no
	// file contents that could look like an entry.
	d := head[primaryDescriptor*SectorSize:]
	folders := head[binary.LittleEndian.Uint32(d[rootRecordAt+extentAt:])*SectorSize:]
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

// Place is where the content of a file stands in an image.
type Place struct {
	Offset, Size int64 // bytes
}

// Find returns the place of a file by its path, such as boot/grub/grub.cfg, by its Rock Ridge name or, without one, by its ISO 9660
// name, whatever the case. The error wraps fs.ErrNotExist if there is none.
func Find(r io.ReaderAt, path string) (Place, error) {
	d, err := descriptor(r)
	if err != nil {
		return Place{}, err
	}
	record := d[rootRecordAt : rootRecordAt+34]
	for _, name := range strings.Split(path, "/") {
		if record[flagsAt]&folderFlag == 0 {
			return Place{}, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
		}
		if record, err = child(r, place(record), name); err != nil {
			return Place{}, fmt.Errorf("%s: %w", path, err)
		}
	}
	return place(record), nil
}

func place(record []byte) Place {
	return Place{
		Offset: int64(binary.LittleEndian.Uint32(record[extentAt:])) * SectorSize,
		Size:   int64(binary.LittleEndian.Uint32(record[sizeAt:])),
	}
}

// child returns the record of a file or folder in a folder.
func child(r io.ReaderAt, folder Place, name string) ([]byte, error) {
	b := make([]byte, min(folder.Size, folderLimit))
	if _, err := r.ReadAt(b, folder.Offset); err != nil {
		return nil, fmt.Errorf("read a folder of the CD: %w", err)
	}
	for at := 0; at < len(b); {
		length := int(b[at])
		if length == 0 { // the rest of the sector is empty
			at = (at/SectorSize + 1) * SectorSize
			continue
		}
		if length < nameAt+1 || at+length > len(b) || nameAt+int(b[at+nameLengthAt]) > length {
			return nil, errors.New("a folder of the CD can't be read")
		}
		record := b[at : at+length]
		if strings.EqualFold(recordName(record), name) {
			return record, nil
		}
		at += length
	}
	return nil, fs.ErrNotExist
}

// recordName is a file's Rock Ridge name (RRIP 4.1.4) or, without one, its ISO 9660 name.
func recordName(record []byte) string {
	end := nameAt + int(record[nameLengthAt])
	use := record[min(end+end%2, len(record)):] // what follows begins at an even byte (ECMA-119 9.1.12)
	for len(use) > 4 && int(use[2]) >= 4 && int(use[2]) <= len(use) {
		if use[0] == 'N' && use[1] == 'M' && use[2] > 5 {
			return string(use[5:use[2]])
		}
		use = use[use[2]:]
	}
	name, _, _ := strings.Cut(string(record[nameAt:end]), ";")
	return strings.TrimSuffix(name, ".")
}
