//go:build linux

package imagewriter

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/ext4"
	"github.com/diskfs/go-diskfs/filesystem/fat32"
	"github.com/diskfs/go-diskfs/partition/gpt"
	"github.com/google/uuid"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
)

// espRoom is the size of the EFI system partition (ironic-python-agent, efi_system_partition_size).
const espRoom = 550 * mib

// The labels of file systems, as ironic-python-agent gives them (partition_utils.py).
const (
	espLabel       = "efi-part"
	swapLabel      = "swap1"
	ephemeralLabel = "ephemeral0"
)

// Layout says which partitions a disk gets for an image of a partition. Sizes are in bytes; 0 = there is no such partition.
type Layout struct {
	Root, Swap, Ephemeral int64
	EphemeralLabel        string // "" = ephemeral0
}

// plan returns the table of partitions and, of the disk, where each kind of partition is.
func (l Layout) plan(t *Target) (*gpt.Table, map[string]partition, error) {
	table := &gpt.Table{LogicalSectorSize: int(t.sector), PhysicalSectorSize: int(t.sector), ProtectiveMBR: true}
	at, places := int64(mib), map[string]partition{}
	for _, p := range []struct {
		name string
		kind gpt.Type
		size int64
	}{{espLabel, gpt.EFISystemPartition, espRoom}, {ephemeralLabel, gpt.LinuxFilesystem, l.Ephemeral}, {swapLabel, gpt.LinuxSwap, l.Swap}, {"root", gpt.LinuxFilesystem, l.Root}} {
		if p.size <= 0 {
			continue
		}
		place := partition{at, (p.size + mib - 1) / mib * mib}
		if at += place.size; at > t.size-mib {
			return nil, nil, failure.NoDevice("not enough space: the partitions need %d bytes, and the disk has %d; it is too small for the image", at+mib, t.size)
		}
		places[p.name] = place
		table.Partitions = append(table.Partitions, &gpt.Partition{
			Index: len(table.Partitions) + 1, Start: uint64(place.start / t.sector), End: uint64((place.start+place.size)/t.sector) - 1, Size: uint64(place.size),
			Type: p.kind, Name: p.name, GUID: strings.ToUpper(uuid.NewString()),
		})
	}
	return table, places, nil
}

// WritePartition partitions the disk and writes an image of a file system into its root partition, verified as Write does it. The EFI system
// partition is empty until InstallLoaders fills it. It returns the UUIDs of the file systems.
func (w *Writer) WritePartition(ctx context.Context, i Image, l Layout, t *Target) (out agent.PartitionUUIDs, err error) {
	table, places, err := l.plan(t)
	if err != nil {
		return out, err
	}
	root := t.section(places["root"])
	prepare := func() error {
		if err := errors.Join(t.Wipe(), table.Write(t.f, t.size)); err != nil {
			return fmt.Errorf("write the partition table: %w", err)
		}
		for _, p := range places {
			if err := t.section(p).Wipe(); err != nil {
				return err
			}
		}
		return l.format(t, places)
	}
	if err := w.write(ctx, i, t, root, prepare); err != nil {
		return out, err
	}
	id := root.fileSystem()
	if id.uuid == "" {
		return out, errors.Join(failure.InvalidImage("Image %s has no file system of ext2 to ext4, xfs or btrfs at its beginning: it is no image of a partition", i.ID), t.Wipe())
	}
	esp := t.section(places[espLabel])
	if err := esp.newESP(id.uuid, nil); err != nil {
		return out, errors.Join(err, t.Wipe())
	}
	out = agent.PartitionUUIDs{RootUUID: agent.Text(id.uuid), EFISystem: agent.Text(esp.fatID()), Partitions: map[string]string{}}
	for name, p := range map[string]string{"root": "root", "efi system partition": espLabel, "swap": swapLabel, "ephemeral": ephemeralLabel} {
		if place, there := places[p]; there {
			out.Partitions[name] = fmt.Sprint(t.numberOf(place))
		}
	}
	return out, t.settle()
}

// format makes the file systems of the partitions beside the root partition.
func (l Layout) format(t *Target, places map[string]partition) error {
	if p, there := places[swapLabel]; there {
		if err := t.section(p).makeSwap(); err != nil {
			return fmt.Errorf("make the swap space: %w", err)
		}
	}
	if p, there := places[ephemeralLabel]; there {
		if _, err := ext4.Create(file.New(t.f, false), p.size, t.start+p.start, 512, &ext4.Params{VolumeName: cmp.Or(l.EphemeralLabel, ephemeralLabel)}); err != nil {
			return fmt.Errorf("make the ephemeral file system: %w", err)
		}
	}
	return nil
}

// makeSwap writes the header of a swap space (union swap_header of Linux): its version, its last page, and a signature at the end of the
// first page.
func (t *Target) makeSwap() error {
	const page = 4096
	b := make([]byte, page)
	binary.LittleEndian.PutUint32(b[1024:], 1)
	binary.LittleEndian.PutUint32(b[1028:], uint32(min(t.size/page-1, 1<<32-1)))
	id := uuid.New()
	copy(b[1036:], id[:])
	copy(b[1052:], swapLabel)
	copy(b[page-10:], "SWAPSPACE2")
	_, err := t.WriteAt(b, 0)
	return err
}

// newESP makes the file system of the EFI system partition, with files. Its number follows from the UUID of the root file system, so that it
// stays the same when it is made again.
func (t *Target) newESP(root string, files map[string][]byte) error {
	fs, err := fat32.Create(file.New(t.f, false), t.size, t.start, t.sector, espLabel, false)
	if err != nil {
		return fmt.Errorf("make the EFI system partition: %w", err)
	}
	if err := addFiles(fs, files); err != nil {
		return fmt.Errorf("write the EFI system partition: %w", err)
	}
	if err := fs.Close(); err != nil {
		return fmt.Errorf("write the EFI system partition: %w", err)
	}
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(root))
	for _, sector := range []int64{0, 6} { // the boot sector, and its copy
		if _, err := t.WriteAt(id[:4], sector*t.sector+fatSerial); err != nil {
			return fmt.Errorf("write the EFI system partition: %w", err)
		}
	}
	return t.settle()
}

// numberOf returns the number of a partition, 0 if there is none at this place.
func (t *Target) numberOf(p partition) int {
	table := t.gpt()
	if table == nil {
		return 0
	}
	for _, have := range table.Partitions {
		if have.Type != gpt.Unused && int64(have.Start)*t.sector == p.start {
			return have.Index
		}
	}
	return 0
}
