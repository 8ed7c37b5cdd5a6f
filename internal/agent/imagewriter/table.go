//go:build linux

package imagewriter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/diskfs/go-diskfs/partition/gpt"
	"github.com/google/uuid"

	"go.temper.dev/temper/internal/agent/efiboot"
)

// The master boot record (UEFI specification 2.10, section 5.2): four entries of 16 bytes, and a signature.
const (
	mbrEntries   = 446
	mbrEntry     = 16
	mbrSignature = 510
	protective   = 0xee // type of the entry that stands for a whole GPT disk
	linuxType    = 0x83
)

// espType is the GPT type of an EFI system partition.
const espType = gpt.EFISystemPartition

// partition is a part of the disk, in bytes.
type partition struct{ start, size int64 }

// bootRecord returns the first 512 bytes of the disk. ok is false if they are no boot record.
func (t *Target) bootRecord() (b []byte, ok bool) {
	b = make([]byte, 512)
	if _, err := t.ReadAt(b, 0); err != nil {
		return nil, false
	}
	return b, binary.LittleEndian.Uint16(b[mbrSignature:]) == 0xaa55
}

// gpt returns the GUID partition table, nil if the disk has none.
func (t *Target) gpt() *gpt.Table {
	signature := make([]byte, 8)
	if _, err := t.ReadAt(signature, t.sector); err != nil || string(signature) != "EFI PART" {
		return nil
	}
	table, err := gpt.Read(t.f, int(t.sector), int(t.sector))
	if err != nil {
		return nil
	}
	return table
}

// partitions returns the partitions of the disk that lie within it: none if there is no table that can be read.
func (t *Target) partitions() []partition {
	var out []partition
	add := func(start, sectors uint64) {
		if start > 0 && sectors > 0 && start < math.MaxInt64/4096 && sectors < math.MaxInt64/4096 {
			if p := (partition{int64(start) * t.sector, int64(sectors) * t.sector}); p.start+p.size <= t.size {
				out = append(out, p)
			}
		}
	}
	if table := t.gpt(); table != nil {
		for _, p := range table.Partitions {
			if p.Type != gpt.Unused && p.End >= p.Start {
				add(p.Start, p.End-p.Start+1)
			}
		}
		return out
	}
	record, ok := t.bootRecord()
	if !ok {
		return nil
	}
	for i := range 4 {
		if e := record[mbrEntries+i*mbrEntry:]; e[4] != 0 && e[4] != protective {
			add(uint64(binary.LittleEndian.Uint32(e[8:])), uint64(binary.LittleEndian.Uint32(e[12:])))
		}
	}
	return out
}

// Identifier returns the signature of the master boot record, as ironic-python-agent prints it (disk_utils.py, get_disk_identifier).
func (t *Target) Identifier() string {
	record, ok := t.bootRecord()
	if !ok {
		return ""
	}
	return fmt.Sprintf("0x%08x", binary.LittleEndian.Uint32(record[440:]))
}

// ESP returns the EFI system partition of the disk. Its GUID is zero if the disk has no GUID partition table. found is false if there is none.
func (t *Target) ESP() (p efiboot.Partition, found bool) {
	table := t.gpt()
	if table == nil {
		record, ok := t.bootRecord()
		for i := 0; ok && i < 4; i++ {
			if record[mbrEntries+i*mbrEntry+4] == 0xef {
				return efiboot.Partition{Number: i + 1}, true
			}
		}
		return p, false
	}
	for _, p := range table.Partitions {
		if p.Type != espType {
			continue
		}
		id, _ := uuid.Parse(p.GUID) // a table on a disk has one
		return efiboot.Partition{Number: p.Index, Start: p.Start, Sectors: p.End - p.Start + 1, GUID: id}, true
	}
	return p, false
}

// repairTable moves the backup of a GUID partition table to the end of the disk, which is seldom where the image ended. Without it
// firmware and kernels distrust the table, and the space behind the image can't be used.
func (t *Target) repairTable() error {
	table := t.gpt()
	if table == nil {
		return nil
	}
	return t.writeTable(table)
}

// writeTable writes both copies of a GUID partition table. The boot record keeps its code and, where it is a hybrid, its entries; an
// entry that stands for the whole disk gets the size of the disk.
func (t *Target) writeTable(table *gpt.Table) error {
	table.ProtectiveMBR = false
	if err := table.Repair(uint64(t.size)); err != nil {
		return fmt.Errorf("repair the partition table: %w", err)
	}
	if err := table.Write(t.f, t.size); err != nil {
		return fmt.Errorf("repair the partition table: %w", err)
	}
	record, ok := t.bootRecord()
	if !ok {
		return errors.New("repair the partition table: the image has a GUID partition table without a boot record")
	}
	for i := range 4 {
		if e := record[mbrEntries+i*mbrEntry:]; e[4] == protective && binary.LittleEndian.Uint32(e[8:]) == 1 {
			binary.LittleEndian.PutUint32(e[12:], uint32(min(t.size/t.sector-1, math.MaxUint32)))
		}
	}
	if _, err := t.WriteAt(record, 0); err != nil {
		return fmt.Errorf("repair the partition table: %w", err)
	}
	return nil
}
