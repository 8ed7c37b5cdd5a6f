package inventory

import "go.temper.dev/temper/internal/text"

// MaxDisks is how many disks of a server are listed.
const MaxDisks = 200

// ListedDisk is a disk with the facts by which root device hints name it. Facts that the inventory lacks are "".
type ListedDisk struct {
	Name       string `json:"name"`
	Size       int64  `json:"size"` // bytes; 0 = not known
	Model      string `json:"model"`
	Serial     string `json:"serial"`
	WWN        string `json:"wwn"`
	Rotational *bool  `json:"rotational"` // nil = not known
}

// Disks returns the first MaxDisks disks of an inventory as inspections record it.
func Disks(inventory map[string]any) []ListedDisk {
	list, _ := element(inventory).list("disks")
	out := []ListedDisk{}
	for _, e := range list[:min(len(list), MaxDisks)] {
		line := func(key string) string { return text.Line(e.text(key), maxIs) }
		d := ListedDisk{Name: line("name"), Model: line("model"), Serial: line("serial"), WWN: line("wwn")}
		d.Size = int64(max(e.number("size"), 0))
		if spins, known := e["rotational"].(bool); known {
			d.Rotational = &spins
		}
		out = append(out, d)
	}
	return out
}
