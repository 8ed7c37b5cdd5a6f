//go:build linux

package imagewriter

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/diskfs/go-diskfs/partition/gpt"
)

// driveLabel is the label of a config drive's file system, by which cloud-init finds it.
const driveLabel = "config-2"

// driveRoom is the size of the partition that is made for a config drive, as ironic-python-agent makes it (partition_utils.py).
const driveRoom = 64 * mib

// WriteConfigDrive writes a config drive, which is a file system, into a partition of its own: that of the image with the label
// config-2, if it has one, else a new one at the end of the disk.
func (t *Target) WriteConfigDrive(drive []byte) error {
	if len(drive) == 0 {
		return errors.New("the config drive is empty")
	}
	if !labelled(drive) {
		return errors.New("the config drive is no file system with the label config-2, so that nobody would find it")
	}
	place, err := t.driveplace(int64(len(drive)))
	if err != nil {
		return fmt.Errorf("make a partition for the config drive: %w", err)
	}
	if err := t.zero(place.start, place.size); err != nil {
		return err
	}
	if _, err := t.WriteAt(drive, place.start); err != nil {
		return fmt.Errorf("write the config drive: %w", err)
	}
	if err := t.settle(); err != nil {
		return err
	}
	back := make([]byte, len(drive))
	if _, err := t.ReadAt(back, place.start); err != nil {
		return fmt.Errorf("read the config drive back: %w", err)
	}
	if !bytes.Equal(back, drive) {
		return errors.New("the disk returns another config drive than was written to it")
	}
	return nil
}

// labelled reports whether what begins with b is a file system with the label of a config drive: ISO 9660 (the volume identifier of
// the primary volume descriptor, ECMA-119 8.4) or FAT (the label in the boot sector).
func labelled(b []byte) bool {
	for _, at := range []struct{ from, to int }{{32<<10 + 40, 32<<10 + 72}, {43, 54}, {71, 82}} {
		if len(b) >= at.to && strings.EqualFold(strings.TrimRight(string(b[at.from:at.to]), " \x00"), driveLabel) {
			return true
		}
	}
	return false
}

// driveplace returns the partition for a config drive of n bytes.
func (t *Target) driveplace(n int64) (partition, error) {
	first := make([]byte, 33<<10)
	for _, p := range t.partitions() {
		if p.size < int64(len(first)) {
			continue
		}
		if _, err := t.ReadAt(first, p.start); err != nil {
			return partition{}, err
		}
		if labelled(first) {
			if p.size < n {
				return p, fmt.Errorf("the image has a partition %s of %d bytes, and the config drive has %d", driveLabel, p.size, n)
			}
			return p, nil
		}
	}
	if table := t.gpt(); table != nil {
		return t.addToGPT(table, n)
	}
	if record, ok := t.bootRecord(); ok && slices.ContainsFunc(t.partitions(), func(partition) bool { return true }) {
		return t.addToMBR(record, n)
	}
	return partition{}, errors.New("the image has no partition table")
}

// room returns a place for n bytes at the end of the free space, which goes up to last (bytes, exclusive).
func (t *Target) room(n, last int64) (partition, error) {
	taken := int64(mib)
	for _, p := range t.partitions() {
		taken = max(taken, p.start+p.size)
	}
	for _, size := range []int64{driveRoom, (n + mib - 1) / mib * mib} {
		if p := (partition{(last - size) / mib * mib, size}); p.start >= taken && size >= n {
			return p, nil
		}
	}
	return partition{}, fmt.Errorf("not enough space behind the image: %d bytes are left for one of %d", max(0, last-taken), n)
}

func (t *Target) addToGPT(table *gpt.Table, n int64) (partition, error) {
	if err := table.Repair(uint64(t.size)); err != nil {
		return partition{}, err
	}
	p, err := t.room(n, int64(table.LastDataSector()+1)*t.sector)
	if err != nil {
		return p, err
	}
	used := map[int]bool{}
	for _, have := range table.Partitions {
		used[have.Index] = true
	}
	index := 1
	for used[index] {
		index++
	}
	table.Partitions = append(table.Partitions, &gpt.Partition{
		Index: index, Start: uint64(p.start / t.sector), End: uint64((p.start+p.size)/t.sector) - 1, Size: uint64(p.size),
		Type: gpt.LinuxFilesystem, Name: driveLabel,
	})
	slices.SortFunc(table.Partitions, func(a, b *gpt.Partition) int { return cmp.Compare(a.Index, b.Index) })
	return p, t.writeTable(table)
}

// addToMBR uses the first free entry of the boot record, which counts sectors in 32 bits.
func (t *Target) addToMBR(record []byte, n int64) (partition, error) {
	p, err := t.room(n, min(t.size, math.MaxUint32*t.sector))
	if err != nil {
		return p, err
	}
	for i := range 4 {
		e := record[mbrEntries+i*mbrEntry : mbrEntries+(i+1)*mbrEntry]
		if e[4] != 0 {
			continue
		}
		copy(e, []byte{0, 0xfe, 0xff, 0xff, linuxType, 0xfe, 0xff, 0xff}) // no cylinders: the sectors count
		binary.LittleEndian.PutUint32(e[8:], uint32(p.start/t.sector))
		binary.LittleEndian.PutUint32(e[12:], uint32(p.size/t.sector))
		if _, err := t.WriteAt(record, 0); err != nil {
			return p, err
		}
		return p, nil
	}
	return p, errors.New("all four partitions of the boot record are in use")
}
