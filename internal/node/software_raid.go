package node

import (
	"fmt"
	"slices"
)

// Software is the controller of logical disks that the ramdisk agent makes of whole disks.
const Software = "software"

// SoftwareLevels are the RAID levels that the agent makes, and the fewest disks for each.
var SoftwareLevels = map[string]int{"0": 2, "1": 2, "1+0": 3, "5": 3, "6": 4}

// SoftwareDisks reads a configuration of software RAID. Its rules are Ironic's (ironic-python-agent, hardware.py,
// validate_configuration): the first logical disk is the root volume, and RAID 1, because the system has to start from any of its disks.
// The error, fault.Invalid, names the property.
func SoftwareDisks(config map[string]any) ([]LogicalDisk, error) {
	all, err := logicalDisks(config)
	if err != nil {
		return nil, err
	}
	rest := 0
	for i, d := range all {
		if err := checkSoftware(i, d); err != nil {
			return nil, badRAID("logical_disks/%d: %w", i, err)
		}
		if d.GiB == 0 {
			rest++
		}
	}
	if rest > 1 {
		return nil, badRAID("size_gb: MAX is for one logical disk at most")
	}
	return all, nil
}

// checkSoftware checks the logical disk at a place in the configuration.
func checkSoftware(place int, d LogicalDisk) error {
	least, known := SoftwareLevels[d.Level]
	switch {
	case d.Controller != Software:
		return fmt.Errorf("controller: it must be %s for the raid interface agent, which makes software RAID", Software)
	case place == 0 && d.Level != "1":
		return fmt.Errorf("raid_level: the first logical disk has the system and must be RAID 1, not %s", d.Level)
	case !known:
		return fmt.Errorf("raid_level: software RAID has 0, 1, 1+0, 5 and 6, not %s", d.Level)
	case place > 0 && d.Root:
		return fmt.Errorf("is_root_volume: with software RAID the first logical disk is the root volume")
	case d.DiskType != "":
		return fmt.Errorf("disk_type: software RAID does not know it; name the disks with hints in physical_disks")
	case d.Interface != "":
		return fmt.Errorf("interface_type: software RAID does not know it; name the disks with hints in physical_disks")
	case d.Count != 0:
		return fmt.Errorf("number_of_physical_disks: software RAID does not know it; name the disks with hints in physical_disks")
	case d.Disks != nil:
		return fmt.Errorf("physical_disks: software RAID takes root device hints, such as {\"serial\": \"...\"}, and no names")
	case d.Hints != nil && len(d.Hints) < least:
		return fmt.Errorf("physical_disks: RAID %s needs %d disks or more, and there are %d hints", d.Level, least, len(d.Hints))
	}
	return nil
}

func allObjects(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { _, is := v.(map[string]any); return !is })
}
