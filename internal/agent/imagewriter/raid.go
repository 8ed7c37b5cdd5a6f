//go:build linux

package imagewriter

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/diskfs/go-diskfs/partition/gpt"
	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// ESPRoom is the size of the EFI system partition on disks whose partitions are members of software RAID, in bytes.
const ESPRoom = espRoom

// Part is a partition that Partition makes.
type Part struct {
	Name string
	ESP  bool  // an EFI system partition, else a member of software RAID
	Size int64 // bytes, a multiple of 1 MiB
}

// Partition makes partitions, one behind the other from 1 MiB on, and takes off the disk and off each of them what was there. The table
// comes last: a disk that has it is ready.
func (t *Target) Partition(parts []Part) error {
	table := &gpt.Table{LogicalSectorSize: int(t.sector), PhysicalSectorSize: int(t.sector), ProtectiveMBR: true}
	wipe, at := []error{t.Wipe()}, int64(mib)
	for i, p := range parts {
		kind := gpt.LinuxRAID
		if p.ESP {
			kind = gpt.EFISystemPartition
		}
		if at+p.Size > t.size-mib {
			return fmt.Errorf("its partitions do not fit on the disk, which has %d bytes", t.size)
		}
		table.Partitions = append(table.Partitions, &gpt.Partition{
			Index: i + 1, Start: uint64(at / t.sector), End: uint64((at+p.Size)/t.sector) - 1, Size: uint64(p.Size),
			Type: kind, Name: p.Name, GUID: strings.ToUpper(uuid.NewString()),
		})
		wipe = append(wipe, t.section(partition{at, p.Size}).Wipe())
		at += p.Size
	}
	if err := errors.Join(wipe...); err != nil {
		return err
	}
	if err := table.Write(t.f, t.size); err != nil {
		return fmt.Errorf("write the partition table: %w", err)
	}
	return nil
}

// Partitioned reports whether the disk has partitions.
func (t *Target) Partitioned() bool { return len(t.partitions()) > 0 }

// CopyESP copies the file system of the EFI system partition to a partition of another disk.
func (t *Target) CopyESP(to *Target) error {
	p, found := t.ESP()
	switch {
	case !found:
		return errors.New("the image has no EFI system partition")
	case p.Sectors == 0:
		return errors.New("the image has its EFI system partition in a table of MBR, from which it can't be copied")
	}
	from := t.section(partition{int64(p.Start) * t.sector, int64(p.Sectors) * t.sector})
	if from.size > to.size {
		return fmt.Errorf("the EFI system partition of the image has %d bytes, and there is room for %d", from.size, to.size)
	}
	if err := to.Wipe(); err != nil {
		return err
	}
	if _, err := io.Copy(io.NewOffsetWriter(to, 0), io.NewSectionReader(from, 0, from.size)); err != nil {
		return fmt.Errorf("copy the EFI system partition: %w", err)
	}
	return to.settle()
}

// OpenToRead opens a disk that may be in use, to read it.
func OpenToRead(path string) (*Target, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open disk: %w", err)
	}
	t := &Target{f: f, sector: 512}
	if t.size, err = f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if n, err := unix.IoctlGetInt(int(f.Fd()), unix.BLKSSZGET); err == nil { // a file has none
		t.sector = int64(n)
	}
	return t, nil
}

// CloseRead closes a disk that was opened to be read.
func (t *Target) CloseRead() error { return t.f.Close() }
