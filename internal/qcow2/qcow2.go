// Package qcow2 reads disks out of qcow2 images, and refuses images that lead out of themselves (QEMU, docs/interop/qcow2.rst).
package qcow2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/lima-vm/go-qcow2reader/image/qcow2"
)

func init() { //nolint:gochecknoinits // the library has a table for whole programs
	qcow2.SetDecompressor(qcow2.CompressionTypeZstd, func(r io.Reader) (io.ReadCloser, error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	})
}

// Magic is what qcow2 images begin with.
const Magic = "QFI\xfb"

// Offsets in the header, and limits of what is in it.
const (
	backing   = 8
	clusters  = 20
	size      = 24
	crypt     = 32
	l1Entries = 36
	features  = 72
	// HeaderSize is how many bytes Check needs.
	HeaderSize = 104

	featureCorrupt  = 1 << 1
	featureDataFile = 1 << 2
	featureKnown    = 1<<0 | 1<<3 // not closed properly, which concerns the counts of references; and the kind of compression
	maxL1Bytes      = 32 << 20    // QEMU's own limit
)

// Check returns the size in bytes of the disk in an image that begins with first. It refuses images that refer to other files, are
// encrypted or damaged, or whose tables can't be what they say: nothing that is read of the image may lead out of it.
func Check(first []byte) (disk int64, err error) {
	if len(first) < HeaderSize {
		return 0, errors.New("the qcow2 header is cut off")
	}
	be := binary.BigEndian
	version, bits := be.Uint32(first[4:]), be.Uint32(first[clusters:])
	var used uint64
	if version >= 3 {
		used = be.Uint64(first[features:])
	}
	virtual, l1 := be.Uint64(first[size:]), uint64(be.Uint32(first[l1Entries:]))
	switch {
	case version != 2 && version != 3:
		err = errors.New("it is of a version other than 2 and 3")
	case be.Uint64(first[backing:]) != 0:
		err = errors.New("it has a backing file")
	case used&featureDataFile != 0:
		err = errors.New("its data are in another file")
	case be.Uint32(first[crypt:]) != 0:
		err = errors.New("it is encrypted")
	case used&featureCorrupt != 0:
		err = errors.New("it is marked as corrupt; check it with qemu-img check")
	case used&^(featureKnown|featureCorrupt|featureDataFile) != 0:
		err = errors.New("it uses features that are not known here, for example extended L2 entries; convert it with qemu-img convert")
	case bits < 9 || bits > 21:
		err = errors.New("its clusters have a size that is not allowed")
	case virtual == 0 || virtual > 1<<62:
		err = errors.New("its size is not possible")
	case l1*8 > maxL1Bytes || l1 < (virtual+1<<(2*bits-3)-1)>>(2*bits-3):
		err = errors.New("its tables don't fit its size")
	}
	return int64(virtual), err //nolint:gosec // it is below 1<<62 without an error
}

// piece is how much of a disk is read at a time.
const piece = 1 << 20

// Read calls put with the content of the disk in an image that Check has accepted, which has so many bytes, a MiB at a time. An error of
// put is returned as it is.
func Read(image io.ReaderAt, disk int64, put func([]byte) error) error {
	img, err := qcow2.Open(image, nil)
	if err == nil {
		err = img.Readable()
	}
	if err != nil {
		return &UnreadableError{fmt.Sprintf("the qcow2 image can't be read: %s", err)}
	}
	buffer := make([]byte, piece)
	for at := int64(0); at < disk; {
		want := buffer[:min(piece, disk-at)]
		for got := 0; got < len(want); {
			n, err := img.ReadAt(want[got:], at+int64(got))
			if n == 0 {
				return &UnreadableError{fmt.Sprintf("the qcow2 image can't be read at byte %d of its disk: %v", at+int64(got), err)}
			}
			got += n
		}
		if err := put(want); err != nil {
			return err
		}
		at += int64(len(want))
	}
	return nil
}

// UnreadableError says why an image can't be read.
type UnreadableError struct{ words string }

func (e *UnreadableError) Error() string { return e.words }
