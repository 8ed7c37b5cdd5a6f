package conductor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// What follows chooses the drives of volumes as Ironic does (drivers/modules/redfish/raid.py): first of the logical disks that name their
// drives, then of those for which drives are chosen, and last of those that name their drives and take all the space that is left.

// raidLevel says how volumes of a RAID level use their drives.
type raidLevel struct {
	least, most int // drives; most 0 = any number
	even        bool
	lost        func(n int) int // how many of n drives hold no data
}

func none(int) int { return 0 }
func one(int) int  { return 1 }
func two(int) int  { return 2 }

// raidLevelsOfBMCs are the levels that BMCs make.
var raidLevelsOfBMCs = map[string]raidLevel{
	"0":   {least: 1, lost: none},
	"1":   {least: 2, most: 2, lost: one},
	"5":   {least: 3, lost: one},
	"6":   {least: 4, lost: two},
	"1+0": {least: 4, even: true, lost: func(n int) int { return n / 2 }},
	"5+0": {least: 6, even: true, lost: two},
	"6+0": {least: 8, even: true, lost: func(int) int { return 4 }},
}

// stripe is the unit of the space that a volume has of a drive, in bytes.
const stripe = 64 << 20

// fits reports whether a volume of the level can have n drives.
func (l raidLevel) fits(n int) bool {
	return n >= l.least && (l.most == 0 || n <= l.most) && (!l.even || n%2 == 0)
}

// space returns how many bytes a volume of n drives has that uses so many of each.
func (l raidLevel) space(n int, each int64) int64 { return each / stripe * stripe * int64(n-l.lost(n)) }

// use returns how many bytes of each of its n drives a volume uses.
func (l raidLevel) use(n int, bytes int64) int64 {
	data := int64(n - l.lost(n))
	if data < 1 {
		return 0
	}
	stripes := (bytes + stripe - 1) / stripe
	return (stripes + data - 1) / data * stripe
}

// driveSpace is a drive and what is left of it.
type driveSpace struct {
	bmc.PhysicalDrive
	controller string
	free       int64
	reserved   bool // a logical disk names it, and does not share it
}

func (d *driveSpace) unused() bool { return d.free == d.Bytes }

// raidPlan is the arrangement of logical disks on the drives of a server.
type raidPlan struct {
	drives []*driveSpace
}

// missingVolumes returns the volumes to be made so that each of the logical disks is there. What is there already is not made again: a
// volume that was there before the step if it has the name and the shape, and one that the step has made if it has the shape, because
// some controllers give volumes other names. before are the paths of the former.
func missingVolumes(wanted []node.LogicalDisk, all []bmc.Controller, before []string, asked func(node.LogicalDisk) bool) ([]bmc.NewVolume, error) {
	left := withoutThoseThere(wanted, all, before)
	p := newRAIDPlan(all, left)
	var out []bmc.NewVolume
	for _, w := range inOrder(left) {
		v, err := p.place(w)
		if err != nil {
			return nil, err
		}
		if asked(w) {
			out = append(out, v)
		}
	}
	return out, nil
}

// inOrder returns the logical disks in the order in which they get their drives.
func inOrder(all []node.LogicalDisk) []node.LogicalDisk {
	rank := func(w node.LogicalDisk) int {
		switch {
		case w.Disks == nil:
			return 1
		case w.GiB == 0:
			return 2
		}
		return 0
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b node.LogicalDisk) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// withoutThoseThere returns the logical disks of which there is no volume. A volume is one logical disk only.
func withoutThoseThere(wanted []node.LogicalDisk, all []bmc.Controller, before []string) (left []node.LogicalDisk) {
	taken := map[string]bool{}
	find := func(w node.LogicalDisk, fits func(bmc.Volume) bool) bool {
		for _, c := range all {
			for _, v := range c.Volumes {
				if !taken[v.Path] && fits(v) && hasShape(c, v, w) {
					taken[v.Path] = true
					return true
				}
			}
		}
		return false
	}
	var unnamed []node.LogicalDisk
	for _, w := range wanted {
		if w.Name == "" || !find(w, func(v bmc.Volume) bool { return v.Name == w.Name }) {
			unnamed = append(unnamed, w)
		}
	}
	for _, w := range unnamed {
		if !find(w, func(v bmc.Volume) bool { return w.Name == "" || !slices.Contains(before, v.Path) }) {
			left = append(left, w)
		}
	}
	return left
}

// hasShape reports whether a volume has the level, the drives and the size of a logical disk.
func hasShape(c bmc.Controller, v bmc.Volume, w node.LogicalDisk) bool {
	if v.Level != w.Level || w.Controller != "" && w.Controller != c.ID {
		return false
	}
	if n := len(v.Drives); n > 0 && (w.Count > 0 && n != w.Count || w.Disks != nil && n != len(w.Disks)) {
		return false
	}
	for _, d := range c.Drives {
		if slices.Contains(v.Drives, d.Path) && (!suits(d, w) || w.Disks != nil && !slices.Contains(w.Disks, d.ID)) {
			return false
		}
	}
	if w.GiB == 0 {
		return true
	}
	want := w.GiB * gib
	off := v.Bytes - want
	return max(off, -off) <= max(want/100, gib) // controllers round sizes
}

// suits reports whether the drive is of the type that the logical disk asks for.
func suits(d bmc.PhysicalDrive, w node.LogicalDisk) bool {
	return (w.DiskType == "" || w.DiskType == d.Media) && (w.Interface == "" || w.Interface == d.Interface)
}

func newRAIDPlan(all []bmc.Controller, wanted []node.LogicalDisk) *raidPlan {
	p := &raidPlan{}
	for _, c := range all {
		used := map[string]int64{}
		for _, v := range c.Volumes {
			for _, path := range v.Drives {
				used[path] += max(raidLevelsOfBMCs[v.Level].useOr(len(v.Drives), v.Bytes), 1)
			}
		}
		for _, d := range c.Drives {
			named := slices.ContainsFunc(wanted, func(w node.LogicalDisk) bool {
				return !w.Share && w.Controller == c.ID && slices.Contains(w.Disks, d.ID)
			})
			p.drives = append(p.drives, &driveSpace{PhysicalDrive: d, controller: c.ID, free: max(d.Bytes-used[d.Path], 0), reserved: named})
		}
	}
	return p
}

// useOr is use, and all of a drive for a volume of a level that is not known.
func (l raidLevel) useOr(n int, bytes int64) int64 {
	if l.lost == nil {
		return bytes
	}
	return l.use(n, bytes)
}

// place gives a logical disk its drives.
func (p *raidPlan) place(w node.LogicalDisk) (bmc.NewVolume, error) {
	level, known := raidLevelsOfBMCs[w.Level]
	if !known {
		return bmc.NewVolume{}, fault.New(fault.Invalid, "no BMC makes raid_level %s", w.Level)
	}
	if w.Disks == nil {
		return p.choose(w, level)
	}
	var drives []*driveSpace
	for _, id := range w.Disks {
		i := slices.IndexFunc(p.drives, func(d *driveSpace) bool { return d.controller == w.Controller && d.ID == id })
		if i < 0 {
			return bmc.NewVolume{}, fault.New(fault.Invalid, "physical_disks: the controller %q has no drive %q; the server has %s", w.Controller, id, p.names())
		}
		drives = append(drives, p.drives[i])
	}
	return take(w, level, drives)
}

// names lists the drives by controller and what is free of them, for an error.
func (p *raidPlan) names() string {
	const most = 16
	var words []string
	for _, d := range p.drives[:min(len(p.drives), most)] {
		words = append(words, fmt.Sprintf("%s: %s (%d of %d GiB free)", d.controller, d.ID, d.free/gib, d.Bytes/gib))
	}
	if len(words) == 0 {
		return "no drives at a controller that makes volumes"
	}
	return strings.Join(words, ", ")
}

// driveClass are drives that are alike, as all drives of a volume have to be.
type driveClass struct {
	controller, media, iface string
	bytes                    int64
}

// choose takes as few drives as will do, all of one class.
func (p *raidPlan) choose(w node.LogicalDisk, level raidLevel) (bmc.NewVolume, error) {
	var classes []driveClass
	by := map[driveClass][]*driveSpace{}
	for _, d := range p.drives {
		free := d.unused() || w.Share && d.free > 0
		if !free || d.reserved || !suits(d.PhysicalDrive, w) || w.Controller != "" && w.Controller != d.controller {
			continue
		}
		k := driveClass{d.controller, d.Media, d.Interface, d.Bytes}
		if by[k] == nil {
			classes = append(classes, k)
		}
		by[k] = append(by[k], d)
	}
	for _, k := range classes {
		drives := by[k]
		slices.SortStableFunc(drives, func(a, b *driveSpace) int { return cmp.Compare(a.free, b.free) })
		for n := level.least; n <= len(drives); n++ {
			if w.Count > 0 && n != w.Count || !level.fits(n) {
				continue
			}
			if v, err := take(w, level, drives[:n]); err == nil {
				return v, nil
			}
		}
	}
	return bmc.NewVolume{}, fault.New(fault.Invalid, "failed to find matching physical disks for all logical disks: %s wants %s; the server has %s",
		described(w), drivesFor(w, level), p.names())
}

// take gives the logical disk these drives, if they have the space.
func take(w node.LogicalDisk, level raidLevel, drives []*driveSpace) (v bmc.NewVolume, err error) {
	n := len(drives)
	if !level.fits(n) || w.Count > 0 && n != w.Count {
		return v, fault.New(fault.Invalid, "physical_disks: %s can't have %d drives", described(w), n)
	}
	least := drives[0].free
	for _, d := range drives {
		if !w.Share && !d.unused() {
			return v, fault.New(fault.Invalid, "physical_disks: the drive %q is in use by a volume", d.ID)
		}
		least = min(least, d.free)
	}
	v = bmc.NewVolume{Controller: drives[0].controller, Name: w.Name, Level: w.Level, Bytes: w.GiB * gib}
	most := level.space(n, least)
	if v.Bytes == 0 {
		v.Bytes = most
	}
	if most == 0 || v.Bytes > most {
		return v, fault.New(fault.Invalid, "size_gb: %s does not fit on its %d drives, which have space for %d GiB", described(w), n, most/gib)
	}
	for _, d := range drives {
		d.free -= min(level.use(n, v.Bytes), d.free)
		v.Drives = append(v.Drives, d.Path)
	}
	return v, nil
}

// described names a logical disk in an error.
func described(w node.LogicalDisk) string {
	words := "a logical disk of RAID level " + w.Level
	if w.Name != "" {
		words = "the logical disk " + w.Name + " of RAID level " + w.Level
	}
	if w.GiB > 0 {
		words += fmt.Sprintf(" with %d GiB", w.GiB)
	}
	return words
}

// drivesFor says which drives a logical disk needs, for an error.
func drivesFor(w node.LogicalDisk, level raidLevel) string {
	words := strings.Fields(fmt.Sprintf("%d %s %s", max(level.least, w.Count), w.DiskType, w.Interface))
	words = append(words, "drives that are alike")
	if w.Controller != "" {
		words = append(words, fmt.Sprintf("at the controller %q", w.Controller))
	}
	if w.Share {
		return strings.Join(append(words, "and have space left"), " ")
	}
	return strings.Join(append(words, "and used by no volume"), " ")
}
