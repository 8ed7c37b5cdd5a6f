//go:build linux

package softraid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.temper.dev/temper/internal/agent/imagewriter"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/rootdevice"
)

const (
	mib = 1 << 20
	gib = 1 << 30
	// overhead is what md keeps of each member for itself, at most.
	overhead = 256 * mib
	// appears is how long the kernel may take to show a new partition or array.
	appears = 30 * time.Second
)

// level is what a RAID level of Ironic is for mdadm and the kernel, and how many of n members have data.
type level struct {
	mdadm, kernel string
	data          func(n int) int
}

var levels = map[string]level{
	"0":   {"0", "raid0", func(n int) int { return n }},
	"1":   {"1", "raid1", func(int) int { return 1 }},
	"1+0": {"10", "raid10", func(n int) int { return n / 2 }},
	"5":   {"5", "raid5", func(n int) int { return n - 1 }},
	"6":   {"6", "raid6", func(n int) int { return n - 2 }},
}

// planned is a logical disk and the disks that it gets.
type planned struct {
	node.LogicalDisk
	level
	disks []rootdevice.Disk
	size  int64 // of each member, in bytes
}

// plan gives logical disks their disks. Without hints a logical disk gets every disk, but those at USB, which may be virtual media.
func plan(wanted []node.LogicalDisk, disks []rootdevice.Disk) ([]planned, error) {
	fixed := slices.DeleteFunc(slices.Clone(disks), func(d rootdevice.Disk) bool { return d.Facts["tran"] == "usb" })
	var out []planned
	for i, w := range wanted {
		p := planned{LogicalDisk: w, level: levels[w.Level], disks: fixed}
		if w.Hints != nil {
			p.disks = nil
		}
		for _, hint := range w.Hints {
			hints, err := rootdevice.Parse(hint)
			if err != nil {
				return nil, fmt.Errorf("logical_disks/%d: physical_disks: %w", i, err)
			}
			rest := slices.DeleteFunc(slices.Clone(disks), func(d rootdevice.Disk) bool {
				return slices.ContainsFunc(p.disks, func(have rootdevice.Disk) bool { return have.Name == d.Name })
			})
			d, found, _ := hints.Choose(rest)
			if !found {
				return nil, fmt.Errorf("logical_disks/%d: physical_disks: no disk fits %s that is not in it already", i, hints)
			}
			p.disks = append(p.disks, d)
		}
		if least := node.SoftwareLevels[w.Level]; len(p.disks) < least {
			return nil, fmt.Errorf("logical_disks/%d: RAID %s needs %d disks or more, and there are %d", i, w.Level, least, len(p.disks))
		}
		if w.GiB > 0 {
			data := int64(p.data(len(p.disks)))
			p.size = (w.GiB*gib/data+overhead)/mib*mib + mib
		}
		out = append(out, p)
	}
	return out, fill(out)
}

// fill sizes the logical disk that gets all the space that is left, and checks that all fit.
func fill(all []planned) error {
	left := map[string]int64{}
	for _, p := range all {
		for _, d := range p.disks {
			left[d.Name] = d.Size/mib*mib - 2*mib - imagewriter.ESPRoom
		}
	}
	for _, p := range all {
		for _, d := range p.disks {
			left[d.Name] -= p.size
		}
	}
	for i := range all {
		p := &all[i]
		least := left[p.disks[0].Name]
		for _, d := range p.disks {
			least = min(least, left[d.Name])
		}
		if p.GiB == 0 {
			p.size = least
		}
		if least < 0 || p.size < 2*overhead {
			return fmt.Errorf("logical_disks/%d: size_gb: there is not enough space on its disks", i)
		}
	}
	return nil
}

// Asks reports whether a RAID configuration of a node is one of software RAID.
func Asks(config map[string]any) bool {
	_, err := node.SoftwareDisks(config)
	return err == nil
}

// Make makes the arrays of a RAID configuration, of disks without partitions, and returns all of ours. What a call before has made it
// leaves as it is, and goes on from there.
func (h Host) Make(ctx context.Context, config map[string]any, disks []rootdevice.Disk) ([]Array, error) {
	wanted, err := node.SoftwareDisks(config)
	if err != nil {
		return nil, err
	}
	arrays, err := plan(wanted, disks)
	if err != nil {
		return nil, err
	}
	tables := map[string][]imagewriter.Part{}
	for number, p := range arrays {
		for _, d := range p.disks {
			if tables[d.Name] == nil {
				tables[d.Name] = []imagewriter.Part{{Name: espName, ESP: true, Size: imagewriter.ESPRoom}}
			}
			tables[d.Name] = append(tables[d.Name], imagewriter.Part{Name: memberName + strconv.Itoa(number), Size: p.size})
		}
	}
	for _, d := range disks {
		if table := tables[d.Name]; table != nil {
			if err := h.partition(ctx, d.Name, table); err != nil {
				return nil, fmt.Errorf("disk %s: %w", d.Name, err)
			}
		}
	}
	if _, err := h.Arrays(ctx); err != nil {
		return nil, err
	}
	for number, p := range arrays {
		if err := h.makeArray(ctx, number, p); err != nil {
			return nil, err
		}
	}
	return h.running(), nil
}

// partition writes the partition table of a disk, unless it has it already.
func (h Host) partition(ctx context.Context, disk string, table []imagewriter.Part) error {
	if h.partitioned(disk, table) {
		return nil
	}
	other := errors.New("it has other partitions: delete them with the step raid.delete_configuration or deploy.erase_devices_metadata")
	if len(h.parts(disk)) > 0 {
		return other
	}
	t, err := imagewriter.Open(h.path(disk))
	if err != nil {
		return err
	}
	if t.Partitioned() { // and the kernel has not read them
		return errors.Join(other, t.Close())
	}
	if err := errors.Join(t.Partition(table), t.Close()); err != nil {
		return err
	}
	return await(ctx, "the kernel does not show its new partitions", func() bool { return h.partitioned(disk, table) })
}

// partitioned reports whether the disk has the partitions of a table.
func (h Host) partitioned(disk string, table []imagewriter.Part) bool {
	return slices.EqualFunc(h.parts(disk), table, func(p Part, want imagewriter.Part) bool { return p.Label == want.Name && p.Size == want.Size })
}

// makeArray makes one array, or adds the members to it that it lacks.
func (h Host) makeArray(ctx context.Context, number int, want planned) error {
	members := h.ours()[number]
	for _, a := range h.running() {
		if a.Number != number {
			continue
		}
		if a.Level != want.kernel {
			return fmt.Errorf("%s is %s, and %s is wanted: delete it with the step raid.delete_configuration", a.Name, a.Level, want.kernel)
		}
		for _, m := range members {
			if slices.Contains(a.Members, m) {
				continue
			}
			if err := h.mdadm(ctx, "--manage", a.Name, "--add", m.Name); err != nil {
				return err
			}
		}
		return nil
	}
	name := want.Name
	if name == "" {
		name = strconv.Itoa(number)
	}
	args := []string{"--create", device(number), "--run", "--metadata=1.2", "--homehost=any", "--name=" + name, "--level=" + want.mdadm, "--raid-devices=" + strconv.Itoa(len(members))}
	for _, m := range members {
		args = append(args, m.Name)
	}
	if err := h.mdadm(ctx, args...); err != nil {
		return err
	}
	if err := await(ctx, "the kernel does not show "+device(number), func() bool {
		return slices.ContainsFunc(h.running(), func(a Array) bool { return a.Number == number && a.Size > 0 })
	}); err != nil {
		return err
	}
	// Behind md's own data may be what was on the disks before.
	t, err := imagewriter.Open(h.path(device(number)))
	if err != nil {
		return err
	}
	return errors.Join(t.Wipe(), t.Close())
}

// Delete stops our arrays and takes their partitions, with md's superblocks, off the disks.
func (h Host) Delete(ctx context.Context) error {
	if err := h.Stop(ctx); err != nil {
		return err
	}
	var disks []string
	for _, parts := range h.ours() {
		for _, p := range parts {
			disks = append(disks, p.Disk)
		}
	}
	slices.Sort(disks)
	for _, disk := range slices.Compact(disks) {
		t, err := imagewriter.Open(h.path(disk))
		if err != nil {
			return err
		}
		if err := errors.Join(t.Wipe(), t.Close()); err != nil {
			return fmt.Errorf("disk %s: %w", disk, err)
		}
		if err := await(ctx, "the kernel still shows the partitions of "+disk, func() bool { return len(h.parts(disk)) == 0 }); err != nil {
			return err
		}
	}
	return nil
}

// await waits for something that the kernel does soon.
func await(ctx context.Context, otherwise string, there func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, appears)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-ctx.Done():
			return errors.New(otherwise)
		case <-tick.C:
		}
	}
	return nil
}

// Described is what a node's raid_config has of the arrays.
func Described(all []Array) []map[string]any {
	out := []map[string]any{}
	for _, a := range all {
		d := map[string]any{"id": a.Name, "controller": node.Software, "size_gb": a.Size / gib}
		for name, l := range levels {
			if l.kernel == a.Level {
				d["raid_level"] = name
			}
		}
		var disks []string
		for _, m := range a.Members {
			disks = append(disks, m.Disk)
		}
		d["physical_disks"] = disks
		out = append(out, d)
	}
	return out
}
