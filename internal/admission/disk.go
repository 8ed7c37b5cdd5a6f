package admission

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/rootdevice"
	"go.temper.dev/temper/internal/text"
)

// Disk is a disk of a node's inventory.
type Disk struct {
	Name string
	Size int64 // bytes
}

// RootDisk returns the disk on which an image would be written, as package rootdevice decides. known is false if that can't be said:
// there is no inventory, it lacks a fact that the hints name, or a hint is one that only the agent understands. It returns
// fault.Invalid if no disk fits.
func RootDisk(n *node.Node, inventory map[string]any) (disk Disk, known bool, err error) {
	disks, ok := disksOf(inventory)
	hints, unread := rootdevice.Parse(rootdevice.Of(n.InstanceInfo, n.Properties))
	if errors.Is(unread, rootdevice.ErrNoObject) {
		return Disk{}, true, fault.CodedAs(fault.Invalid, fault.NoDiskFits, "Node %s has no disk for an image: in %s, %w.", n.UUID, rootdevice.Where(n.InstanceInfo), unread)
	}
	if !ok || len(disks) == 0 || unread != nil {
		return Disk{}, false, nil
	}
	best, found, known := hints.Choose(disks)
	switch {
	case !known:
		return Disk{}, false, nil
	case found:
		return Disk{Name: best.Name, Size: best.Size}, true, nil
	}
	what := "is of 4 GiB or more"
	if !hints.Empty() {
		what = "matches its root device hints in " + rootdevice.Where(n.InstanceInfo)
	}
	return Disk{}, true, fault.CodedAs(fault.Invalid, fault.NoDiskFits, "Node %s has no disk for an image: none of the %d in its inventory %s.", n.UUID, len(disks), what)
}

// disksOf returns the disks of an inventory. ok is false if one can't be read.
func disksOf(inventory map[string]any) (disks []rootdevice.Disk, ok bool) {
	list, _ := inventory["disks"].([]any)
	for _, one := range list {
		facts, _ := one.(map[string]any)
		size, ok := wholeNumber(facts["size"])
		if !ok {
			return nil, false
		}
		d := rootdevice.Disk{Name: fmt.Sprint(facts["name"]), Size: size, Facts: map[string]string{}}
		for name, fact := range facts {
			if fact != nil {
				d.Facts[name] = fmt.Sprint(fact)
			}
		}
		disks = append(disks, d)
	}
	return disks, true
}

// LargestDisk returns a disk that is at least as large as the one on which an image would be written, for a node whose RootDisk is
// not known: the largest of the inventory or, without an inventory and root device hints, the one of properties/local_gb. known is
// false if neither says a size.
func LargestDisk(n *node.Node, inventory map[string]any) (disk Disk, known bool) {
	disks, _ := inventory["disks"].([]any)
	for _, one := range disks {
		facts, _ := one.(map[string]any)
		size, ok := wholeNumber(facts["size"])
		if !ok {
			return Disk{}, false
		}
		if size > disk.Size {
			disk = Disk{Name: fmt.Sprint(facts["name"]), Size: size}
		}
	}
	if len(disks) > 0 || Hinted(n) {
		return disk, disk.Size > 0
	}
	gib, ok := jsonvalue.IntOrText(n.Properties["local_gb"])
	if !ok || gib <= 0 || gib >= math.MaxInt32 {
		return Disk{}, false
	}
	return Disk{Name: "properties/local_gb", Size: (gib + 1) << 30}, true // inspections round down, and leave 1 GiB out
}

// MayNotFit reports whether an image of size bytes (0 = not known) does not fit on every disk on which the agent could put it. Without
// root device hints all of these have at least 4 GiB.
func MayNotFit(n *node.Node, size int64) bool {
	return size > rootdevice.LeastSize || size > 0 && Hinted(n)
}

// FitsDisk returns an error with the code disk_too_small if an image of size bytes (0 = not known) does not fit on the disk of n on
// which it would be written or, if it is not known which one that is, on none of its disks.
func FitsDisk(n *node.Node, inventory map[string]any, size int64) error {
	disk, known, err := RootDisk(n, inventory)
	if err != nil || !known {
		disk, known = LargestDisk(n, inventory)
	}
	if !known || size <= disk.Size {
		return nil
	}
	needed, has := text.Sizes(float64(size), float64(disk.Size))
	return fault.Coded(fault.DiskTooSmall, "The image of node %s needs %s, and disk %s has %s.", cmp.Or(n.Name, n.UUID), needed, disk.Name, has)
}

// Hinted reports whether n has root device hints.
func Hinted(n *node.Node) bool { return rootdevice.Of(n.InstanceInfo, n.Properties) != nil }

func wholeNumber(v any) (int64, bool) {
	if n, ok := jsonvalue.Int(v); ok {
		return n, n > 0
	}
	f, ok := jsonvalue.Float(v)
	return int64(f), ok && f >= 1 && f < math.MaxInt64
}
