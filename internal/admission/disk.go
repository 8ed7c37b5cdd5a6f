package admission

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// leastDisk is the smallest disk on which the agent puts an image if there are no root device hints
// (ironic-python-agent, hardware.py, get_os_install_device), in bytes.
const leastDisk = 4 << 30

// Disk is a disk of a node's inventory.
type Disk struct {
	Name string
	Size int64 // bytes
}

// RootDisk returns the disk on which an image would be written: the smallest of at least 4 GiB, or the first
// that the root device hints of instance_info or properties name. known is false if that can't be said: there is no
// inventory, or a hint is one that only the agent understands. It returns fault.Invalid if no disk fits.
func RootDisk(n *node.Node, inventory map[string]any) (disk Disk, known bool, err error) {
	disks, _ := inventory["disks"].([]any)
	hints := rootHints(n)
	if len(disks) == 0 {
		return Disk{}, false, nil
	}
	var best Disk
	for _, one := range disks {
		facts, ok := one.(map[string]any)
		if !ok {
			return Disk{}, false, nil
		}
		size, ok := wholeNumber(facts["size"])
		if !ok {
			return Disk{}, false, nil
		}
		fits := len(hints) > 0 || size >= leastDisk
		for key, hint := range hints {
			matches, understood := hinted(key, hint, facts, size)
			if !understood {
				return Disk{}, false, nil
			}
			fits = fits && matches
		}
		if fits && (best.Size == 0 || len(hints) == 0 && size < best.Size) {
			best = Disk{Name: fmt.Sprint(facts["name"]), Size: size}
		}
	}
	if best.Size == 0 {
		what := "is of 4 GiB or more"
		if len(hints) > 0 {
			what = "matches its root device hints"
		}
		return Disk{}, true, fault.Coded(fault.ValidationFailed, "Node %s has no disk for an image: none of the %d in its inventory %s.", n.UUID, len(disks), what)
	}
	return best, true, nil
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
	if len(disks) > 0 || len(rootHints(n)) > 0 {
		return disk, disk.Size > 0
	}
	gib, err := strconv.ParseInt(strings.TrimSpace(fmt.Sprint(n.Properties["local_gb"])), 10, 32)
	if err != nil || gib <= 0 {
		return Disk{}, false
	}
	return Disk{Name: "properties/local_gb", Size: (gib + 1) << 30}, true // inspections round down, and leave 1 GiB out
}

// MayNotFit reports whether an image of size bytes (0 = not known) does not fit on every disk on which the agent could put it. Without
// root device hints all of these have at least 4 GiB.
func MayNotFit(n *node.Node, size int64) bool {
	return size > leastDisk || size > 0 && len(rootHints(n)) > 0
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

// rootHints returns the root device hints of n. Those of instance_info take precedence, as in Ironic.
func rootHints(n *node.Node) map[string]any {
	for _, from := range []map[string]any{n.InstanceInfo, n.Properties} {
		if hints, ok := from["root_device"].(map[string]any); ok && len(hints) > 0 {
			return hints
		}
	}
	return nil
}

// hinted reports whether a disk matches a hint. understood is false for hints with operators other than a
// comparison of the size, which the agent evaluates.
func hinted(key string, hint any, disk map[string]any, size int64) (matches, understood bool) {
	words := strings.TrimSpace(fmt.Sprint(hint))
	if key == "size" {
		op, number := "==", words
		for _, o := range []string{">=", "<=", "==", "=", ">", "<"} {
			if rest, found := strings.CutPrefix(words, o); found {
				op, number = o, strings.TrimSpace(rest)
				break
			}
		}
		gib, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return false, false
		}
		have := size >> 30
		switch op {
		case ">=", "=": // for numbers, Ironic's "=" means "at least"
			return have >= gib, true
		case "<=":
			return have <= gib, true
		case ">":
			return have > gib, true
		case "<":
			return have < gib, true
		}
		return have == gib, true
	}
	switch key {
	case "name", "serial", "wwn", "model", "vendor", "rotational", "by_path", "hctl":
	default:
		return false, false
	}
	if strings.ContainsAny(words, "<>=!") {
		return false, false
	}
	have, known := disk[key]
	if !known || have == nil {
		return false, key == "name" || key == "serial"
	}
	return strings.EqualFold(strings.TrimSpace(fmt.Sprint(have)), words), true
}

func wholeNumber(v any) (int64, bool) {
	switch v := v.(type) {
	case float64:
		return int64(v), v > 0
	case int64:
		return v, v > 0
	case int:
		return int64(v), v > 0
	}
	return 0, false
}
