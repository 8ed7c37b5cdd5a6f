package node

import (
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/text"
)

// logicalDisk are the properties of a logical disk in a RAID configuration, which all implementations of the interface raid have in
// common (Ironic drivers/raid_config_schema.json).
var logicalDisk = []Property{
	{Name: "controller", About: "RAID controller that the disk is made with, as the driver names it. Default: one that fits."},
	{Name: "disk_type", About: "Type of its physical disks: hdd or ssd. Default: any."},
	{Name: "interface_type", About: "Interface of its physical disks: sata, scsi or sas. Default: any."},
	{Name: "is_root_volume", About: "Whether it is the root device, on which images are deployed. True for one logical disk at most. Default: false."},
	{Name: "number_of_physical_disks", About: "How many physical disks it has, a whole number above 0. Default: as few as the RAID level needs."},
	{Name: "physical_disks", About: "Its physical disks, as the driver names them: a list; for software RAID root device hints, each of which finds one disk. Default: those that fit."},
	{Name: "raid_level", About: "RAID level: JBOD, 0, 1, 2, 5, 6, 1+0, 5+0 or 6+0. Required.", Required: true},
	{Name: "share_physical_disks", About: "Whether other logical disks may have parts of its physical disks. Default: false."},
	{Name: "size_gb", About: "Size in GiB, a whole number above 0, or MAX for all the space that is left. Required.", Required: true},
	{Name: "volume_name", About: "Name of the volume. Default: one that the driver makes."},
}

// The arguments of the steps of the interface raid.
const (
	ArgRAIDConfig     = "raid_config"
	ArgDeleteExisting = "delete_existing"
	ArgCreateRoot     = "create_root_volume"
	ArgCreateNonroot  = "create_nonroot_volumes"
)

// VolumeWork is how far a step is that makes volumes.
type VolumeWork struct {
	Before  []string `json:"before,omitempty"`  // the paths of the volumes that were there before it made the first
	Deleted bool     `json:"deleted,omitempty"` // it has deleted those that were there
}

// LogicalDisk is a logical disk of a RAID configuration that somebody wants.
type LogicalDisk struct {
	Controller string // "" = any
	DiskType   string // hdd or ssd; "" = any
	Interface  string // sata, scsi or sas; "" = any
	Root       bool
	Count      int      // of its physical disks; 0 = as few as the level needs
	Disks      []string // its physical disks; empty = those that fit
	Hints      []any    // root device hints, each of which finds one of its physical disks, in the place of Disks
	Level      string
	Share      bool
	GiB        int64 // 0 = all the space that is left
	Name       string
}

// raidLevels, diskTypes and diskInterfaces are the values that Ironic's schema has.
var (
	raidLevels = []string{"JBOD", "0", "1", "2", "5", "6", "1+0", "5+0", "6+0"}
	// raidLevelsOfBMCs are those that Redfish has, too.
	raidLevelsOfBMCs = []string{"0", "1", "5", "6", "1+0", "5+0", "6+0"}
	diskTypes        = []string{"hdd", "ssd"}
	diskInterfaces   = []string{"sata", "scsi", "sas"}
)

const (
	maxLogicalDisks  = 64
	maxPhysicalDisks = 256
	maxDiskName      = 255
	maxGiB           = 1 << 30
)

// logicalDisks reads a RAID configuration. The error, fault.Invalid, names what is wrong with it.
func logicalDisks(config map[string]any) ([]LogicalDisk, error) {
	for key := range config {
		if key != "logical_disks" {
			return nil, badRAID("Additional properties are not allowed (%s was unexpected)", quoted(key))
		}
	}
	list, ok := config["logical_disks"].([]any)
	switch {
	case config["logical_disks"] == nil:
		return nil, badRAID("'logical_disks' is a required property")
	case !ok:
		return nil, badRAID("logical_disks is not a list")
	case len(list) == 0:
		return nil, badRAID("logical_disks is empty")
	case len(list) > maxLogicalDisks:
		return nil, badRAID("logical_disks has more than %d elements", maxLogicalDisks)
	}
	var all []LogicalDisk
	roots := 0
	for i, v := range list {
		d, err := logicalDiskOf(v)
		if err != nil {
			return nil, badRAID("logical_disks/%d: %w", i, err)
		}
		if d.Root {
			roots++
		}
		all = append(all, d)
	}
	if roots > 1 {
		return nil, fault.New(fault.Invalid, "Raid config cannot have more than one root volume. %d root volumes were specified", roots)
	}
	return all, nil
}

func badRAID(format string, args ...any) error {
	return fault.New(fault.Invalid, "RAID config validation error: %w", fmt.Errorf(format, args...))
}

func quoted(s string) string { return "'" + text.Line(s, 80) + "'" }

func logicalDiskOf(v any) (d LogicalDisk, err error) {
	in, ok := v.(map[string]any)
	if !ok {
		return d, fmt.Errorf("it is not an object")
	}
	for key := range in {
		if !slices.ContainsFunc(logicalDisk, func(p Property) bool { return p.Name == key }) {
			return d, fmt.Errorf("additional properties are not allowed (%s was unexpected)", quoted(key))
		}
	}
	for _, p := range logicalDisk {
		if p.Required && in[p.Name] == nil {
			return d, fmt.Errorf("'%s' is a required property", p.Name)
		}
	}
	r := raidReader{in: in}
	d = LogicalDisk{
		Controller: r.text("controller"), DiskType: r.oneOf("disk_type", diskTypes), Interface: r.oneOf("interface_type", diskInterfaces),
		Root: r.flag("is_root_volume"), Share: r.flag("share_physical_disks"), Count: int(r.number("number_of_physical_disks", maxPhysicalDisks)),
		Level: r.oneOf("raid_level", raidLevels), Name: r.text("volume_name"),
	}
	if hints, ok := in["physical_disks"].([]any); ok && len(hints) > 0 && allObjects(hints) {
		d.Hints = hints
	} else {
		d.Disks = r.texts("physical_disks")
	}
	if in["size_gb"] != "MAX" {
		d.GiB = r.number("size_gb", maxGiB)
	}
	if r.err == nil && in["physical_disks"] != nil && d.Controller == "" {
		r.fail("'controller' is a dependency of 'physical_disks'")
	}
	return d, r.err
}

// raidReader reads the properties of a logical disk. An absent one reads as its zero value.
type raidReader struct {
	in  map[string]any
	err error // the first
}

func (r *raidReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *raidReader) text(name string) string {
	s, ok := r.in[name].(string)
	if r.in[name] != nil && (!ok || len(s) > maxDiskName) {
		r.fail("%s is not a string of at most %d bytes", name, maxDiskName)
	}
	return s
}

func (r *raidReader) oneOf(name string, values []string) string {
	s := r.text(name)
	if r.in[name] != nil && !slices.Contains(values, s) {
		r.fail("%s: %s is not one of %s", name, quoted(s), strings.Join(values, ", "))
	}
	return s
}

func (r *raidReader) flag(name string) bool {
	b, ok := r.in[name].(bool)
	if r.in[name] != nil && !ok {
		r.fail("%s is not a boolean", name)
	}
	return b
}

func (r *raidReader) number(name string, most int64) int64 {
	if r.in[name] == nil {
		return 0
	}
	f, ok := jsonvalue.Float(r.in[name])
	n := int64(f)
	if !ok || float64(n) != f || n < 1 || n > most {
		r.fail("%s is not a whole number from 1 to %d", name, most)
		return 0
	}
	return n
}

func (r *raidReader) texts(name string) (all []string) {
	list, ok := r.in[name].([]any)
	if r.in[name] != nil && (!ok || len(list) == 0 || len(list) > maxPhysicalDisks) {
		r.fail("%s is not a list of 1 to %d strings", name, maxPhysicalDisks)
	}
	for _, v := range list {
		s, ok := v.(string)
		if !ok || s == "" || len(s) > maxDiskName {
			r.fail("%s has an element that is not a string of at most %d bytes", name, maxDiskName)
		}
		if slices.Contains(all, s) {
			r.fail("%s has %s twice", name, quoted(s))
		}
		all = append(all, s)
	}
	return all
}

// LogicalDisks reads a RAID configuration that the node's raid interface is to make. The error, fault.Invalid, names what is wrong with it.
func (n *Node) LogicalDisks(config any) ([]LogicalDisk, error) {
	i := n.Implementation("raid")
	if i.LogicalDisk == nil {
		return nil, n.Unsupported("raid")
	}
	return i.Means.logicalDisks(config)
}

// logicalDisks reads a RAID configuration. BMCs make less than Ironic's schema has.
func (m Means) logicalDisks(v any) ([]LogicalDisk, error) {
	config, ok := v.(map[string]any)
	if !ok {
		return nil, badRAID("it is not an object")
	}
	if m == MeansAgent {
		return SoftwareDisks(config)
	}
	all, err := logicalDisks(config)
	if err != nil || m != MeansBMC {
		return all, err
	}
	for i, d := range all {
		switch {
		case d.Interface == "scsi":
			return nil, badRAID("logical_disks/%d: interface_type: `scsi` is not supported by BMCs", i)
		case d.Hints != nil:
			return nil, badRAID("logical_disks/%d: physical_disks: hints are not supported by BMCs, which take the names of drives", i)
		case !slices.Contains(raidLevelsOfBMCs, d.Level):
			return nil, badRAID("logical_disks/%d: raid_level %s is not one that a BMC makes: %s", i, d.Level, strings.Join(raidLevelsOfBMCs, ", "))
		}
	}
	return all, nil
}
