//go:build linux

package imagewriter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mib is what everything on a disk is aligned to.
const mib = 1 << 20

// Target is the disk, or the file in its place, that is written.
type Target struct {
	f      *os.File
	size   int64 // bytes
	sector int64 // bytes of a logical sector
	block  bool  // it is a block device
	start  int64 // bytes of the disk before it, where it is a partition
}

// section returns a part of the disk as a target of its own. It is closed with the disk.
func (t *Target) section(p partition) *Target {
	s := *t
	s.start, s.size = t.start+p.start, p.size
	return &s
}

// ReadAt reads at an offset from the beginning of the target.
func (t *Target) ReadAt(b []byte, off int64) (int, error) { return t.f.ReadAt(b, t.start+off) }

// WriteAt writes at an offset from the beginning of the target.
func (t *Target) WriteAt(b []byte, off int64) (int, error) { return t.f.WriteAt(b, t.start+off) }

// Open opens a disk. A block device is opened for this process alone: one that is mounted or in use by the kernel is refused.
func Open(path string) (*Target, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open disk: %w", err)
	}
	t := &Target{sector: 512, block: info.Mode()&fs.ModeDevice != 0}
	flags := os.O_RDWR
	if t.block {
		flags |= unix.O_EXCL
	}
	if t.f, err = os.OpenFile(path, flags, 0); err != nil {
		if errors.Is(err, syscall.EBUSY) {
			return nil, fmt.Errorf("disk %s is in use on this machine, mounted or a part of another device: %w", path, err)
		}
		return nil, fmt.Errorf("open disk: %w", err)
	}
	if t.size, err = t.f.Seek(0, io.SeekEnd); err == nil && t.block {
		var n int
		n, err = unix.IoctlGetInt(int(t.f.Fd()), unix.BLKSSZGET)
		t.sector = int64(n)
	}
	if err != nil {
		_ = t.f.Close()
		return nil, fmt.Errorf("read the size of disk %s: %w", path, err)
	}
	return t, nil
}

// Close closes the disk, after the kernel has written everything to it and read its partitions again.
func (t *Target) Close() error {
	err := t.f.Sync()
	if t.block {
		// Somebody may look at the disk this moment, and a loop device may have no partitions. Whoever boots from it reads them anyway.
		_ = unix.IoctlSetInt(int(t.f.Fd()), unix.BLKRRPART, 0)
	}
	return errors.Join(err, t.f.Close())
}

// Size returns the size in bytes.
func (t *Target) Size() int64 { return t.size }

// zero makes n bytes at off read as zeros. The disk or file system forgets them if it can; else they are written.
func (t *Target) zero(off, n int64) error {
	n = min(n, t.size-off)
	if n <= 0 {
		return nil
	}
	if off%t.sector == 0 && n%t.sector == 0 {
		// For a block device the kernel promises zeros, or an error (block/fops.c, blkdev_fallocate).
		if unix.Fallocate(int(t.f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, t.start+off, n) == nil {
			return nil
		}
	}
	for n > 0 {
		part := min(n, int64(len(zeros)))
		if _, err := t.WriteAt(zeros[:part], off); err != nil {
			return fmt.Errorf("write image to device: %w", err)
		}
		off, n = off+part, n-part
	}
	return nil
}

var zeros = make([]byte, mib)

// settle writes everything to the disk and has the kernel forget it, so that what is read next comes from the disk.
func (t *Target) settle() error {
	if err := t.f.Sync(); err != nil {
		return fmt.Errorf("write image to device: %w", err)
	}
	if t.block {
		_ = unix.IoctlSetInt(int(t.f.Fd()), unix.BLKFLSBUF, 0)
	}
	_ = unix.Fadvise(int(t.f.Fd()), 0, 0, unix.FADV_DONTNEED) // advice; without it the page cache may answer
	return nil
}

// Wipe takes away what tells a kernel or a boot loader that something is on the disk: partition tables, and the signatures of file
// systems, RAID and LVM at both ends of the disk and of each of its partitions.
func (t *Target) Wipe() error {
	const ends = 4 * mib // more than any signature is away from its end
	areas := [][2]int64{{0, ends}, {max(0, t.size-ends) / t.sector * t.sector, ends}}
	for _, p := range t.partitions() {
		areas = append(areas, [2]int64{p.start, mib}, [2]int64{max(p.start, p.start+p.size-mib), mib})
	}
	for _, a := range areas {
		if err := t.zero(a[0], min(a[1], t.size-a[0])); err != nil {
			return err
		}
	}
	return nil
}

// isZero reports whether b has only zeros. b is at most 1 MiB.
func isZero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }
