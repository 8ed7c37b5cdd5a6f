// Package rootdevice decides on which disk of a server an image is written: Ironic's root device hints, and the choice without
// them. The agent chooses with it, and the API and the conductors foretell what the agent will choose. It reads no disk.
package rootdevice

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// LeastSize is the size in bytes of the smallest disk on which an image is written without hints
// (ironic-python-agent, utils.py, guess_root_disk).
const LeastSize = 4 << 30

// Disk is a disk that can be chosen.
type Disk struct {
	Name string // "/dev/sda"
	Size int64  // bytes
	// Facts are its other properties, by the names of the hints: model, wwn, rotational, ... A fact that is not known is missing.
	Facts map[string]string
	// Aliases are other names of the same device, as udev's links below /dev/disk.
	Aliases []string
}

// Fit says whether a disk satisfies hints.
type Fit int

// The answers. Unknown means that the facts don't say.
const (
	No Fit = iota
	Unknown
	Yes
)

// The fields of a node that may have root device hints.
const (
	InstanceInfo = "instance_info"
	Properties   = "properties"
)

// Of returns the root device hints that an operator gave for a node, for Parse: those of instance_info take precedence, as in Ironic.
// They are nil if there are none.
func Of(instanceInfo, properties map[string]any) any {
	if hints := in(instanceInfo); hints != nil {
		return hints
	}
	return in(properties)
}

// Where returns the field that has the hints of Of, and in which others have an effect. Without hints it is Properties, where they
// outlast an instance.
func Where(instanceInfo map[string]any) string {
	if in(instanceInfo) != nil {
		return InstanceInfo
	}
	return Properties
}

// in returns the hints that a field has, nil if it has none.
func in(field map[string]any) any {
	hints := field["root_device"]
	if given, ok := hints.(map[string]any); ok && len(given) == 0 {
		return nil
	}
	return hints
}

// Hints are parsed root device hints. The zero value has none.
type Hints struct {
	conditions []condition
	text       string
}

// ErrNoObject is Parse's error for hints that are a text, a list or a number.
var ErrNoObject = errors.New(`root_device is not an object, such as {"serial": "SERIAL"}`)

// Parse reads hints as an operator wrote them. The error says which hint is wrong, and how it should be.
func Parse(given any) (Hints, error) {
	hints, ok := given.(map[string]any)
	if !ok && given != nil {
		return Hints{}, ErrNoObject
	}
	var out Hints
	var words []string
	for _, name := range slices.Sorted(maps.Keys(hints)) {
		c, err := parse(name, hints[name])
		if err != nil {
			return Hints{}, err
		}
		out.conditions = append(out.conditions, c)
		words = append(words, fmt.Sprintf("%s: %v", name, hints[name]))
	}
	out.text = strings.Join(words, ", ")
	return out, nil
}

// Empty reports whether there are no hints.
func (h Hints) Empty() bool { return len(h.conditions) == 0 }

// String returns the hints as they were written, sorted by name.
func (h Hints) String() string { return h.text }

// Fits says whether a disk satisfies all hints. Without hints it does if it is large enough.
func (h Hints) Fits(d Disk) Fit {
	if h.Empty() {
		if d.Size >= LeastSize {
			return Yes
		}
		return No
	}
	all := Yes
	for _, c := range h.conditions {
		all = min(all, c.fit(d))
	}
	return all
}

// Choose returns the disk on which an image is written: the first that satisfies the hints or, without hints, the smallest that is
// large enough. found is false if there is none. known is false if the choice depends on facts that are not known.
func (h Hints) Choose(disks []Disk) (disk Disk, found, known bool) {
	known = true
	for _, d := range disks {
		switch h.Fits(d) {
		case Unknown:
			if !found { // one after a disk that fits would not be chosen
				known = false
			}
		case Yes:
			if !found || h.Empty() && d.Size < disk.Size {
				disk, found = d, true
			}
		}
	}
	return disk, found, known
}
