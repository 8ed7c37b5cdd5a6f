package inventory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/text"
)

// MaxParts is how many parts of an inventory are compared.
const MaxParts = 1000

const (
	maxName = 128 // runes of a part's name
	maxIs   = 255 // runes of what a part is
)

// Part is a part of a server's hardware.
type Part struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"` // which one of its kind it is: its slot, serial number or address
	Is   string `json:"is"`   // what it is, in words: model, size, version
	// Serial is its serial number, if that is not its name.
	Serial string `json:"serial,omitempty"`
}

// String describes what the part is.
func (p Part) String() string {
	s := p.Is
	if p.Serial != "" {
		s = words(s, "serial", p.Serial)
	}
	return cmp.Or(s, "present")
}

// Kind is a kind of parts.
type Kind string

// The kinds, in the order in which people are told of them.
const (
	System    Kind = "system" // model, serial number, BIOS, ...
	Processor Kind = "processor"
	Memory    Kind = "memory"
	Disk      Kind = "disk"
	Interface Kind = "interface"
	GPU       Kind = "gpu"
	PCIDevice Kind = "pci_device"
	Firmware  Kind = "firmware"
)

var kinds = []Kind{System, Processor, Memory, Disk, Interface, GPU, PCIDevice, Firmware}

// Parts are the parts of one inventory.
type Parts struct {
	// Told are the kinds of which the inventory lists all parts. System is always among them, although some of its parts may be
	// missing: those are not compared.
	Told  []Kind `json:"told"`
	Parts []Part `json:"parts"` // in the order of kinds, then of names; at most MaxParts
}

// list is where an inventory has the parts of a kind.
type list struct {
	kind   Kind
	within string // a key of the inventory that contains the list, "" = the inventory itself
	key    string
	unread string // what "incomplete_parts" has if the list is not whole
	part   func(element) Part
}

var lists = []list{
	{Processor, "", "processors", "", func(e element) Part {
		return Part{Name: e.text("socket"), Is: words(e.text("model_name"), e.count("cores", "cores")), Serial: e.text("serial")}
	}},
	{Memory, "memory", "modules", "memory", func(e element) Part {
		return Part{Name: e.text("slot"), Is: words(e.size("size_mb", 20), e.text("type"), e.text("part_number")), Serial: e.text("serial")}
	}},
	{Disk, "", "disks", "", func(e element) Part {
		return Part{Name: e.first("serial", "wwn", "name"), Is: words(e.size("size", 0), e.text("model"), e.labelled("firmware"))}
	}},
	{Interface, "", "interfaces", "", func(e element) Part { return Part{Name: strings.ToLower(e.text("mac_address")), Is: e.text("name")} }},
	{GPU, "", "gpus", "gpus", func(e element) Part {
		return Part{Name: e.text("name"), Is: words(e.text("model"), e.labelled("firmware")), Serial: e.text("serial")}
	}},
	{PCIDevice, "", "pci_devices", "pci_devices", func(e element) Part {
		ids := strings.Trim(e.text("vendor_id")+":"+e.text("product_id"), ":")
		return Part{Name: e.first("name", "bus"), Is: words(e.text("model"), ids, e.labelled("firmware")), Serial: e.text("serial")}
	}},
	{Firmware, "", "firmware", "firmware", func(e element) Part { return Part{Name: e.text("name"), Is: e.text("version")} }},
}

// Read returns the parts of an inventory. What has another type than it should have is left out.
func Read(inventory map[string]any) Parts {
	in := element(inventory)
	parts := Parts{Told: []Kind{System}, Parts: system(in)}
	unread := in.texts("incomplete_parts")
	for _, l := range lists {
		from := in
		if l.within != "" {
			from = in.child(l.within)
		}
		elements, ok := from.list(l.key)
		if !ok {
			continue
		}
		if l.unread == "" || !slices.Contains(unread, l.unread) {
			parts.Told = append(parts.Told, l.kind)
		}
		parts.Parts = append(parts.Parts, partsOf(l, elements)...)
	}
	parts.Parts = parts.Parts[:min(len(parts.Parts), MaxParts)]
	return parts
}

// partsOf returns the parts of a list in the order of their names. The second of the same name is called NAME #2.
func partsOf(l list, elements []element) []Part {
	var out []Part
	for _, e := range elements {
		p := l.part(e)
		out = append(out, Part{
			Kind: l.kind, Name: text.Line(cmp.Or(p.Name, "?"), maxName), Is: text.Line(p.Is, maxIs), Serial: text.Line(p.Serial, maxName),
		})
	}
	slices.SortFunc(out, func(a, b Part) int {
		return cmp.Or(natural(a.Name, b.Name), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Is, b.Is), cmp.Compare(a.Serial, b.Serial))
	})
	same := 1
	for i := 1; i < len(out); i++ {
		same++
		if base := out[i-same+1].Name; out[i].Name == base {
			out[i].Name = fmt.Sprintf("%s #%d", base, same)
		} else {
			same = 1
		}
	}
	return out
}

// natural compares names with numbers by the numbers: DIMM2 is before DIMM10.
func natural(a, b string) int {
	digits := func(s string) (number int, rest string) {
		n := len(s) - len(strings.TrimLeft(s, "0123456789"))
		number, _ = strconv.Atoi(s[:min(n, 9)])
		return number, s[n:]
	}
	for a != "" && b != "" {
		if isDigit(a[0]) && isDigit(b[0]) {
			x, restA := digits(a)
			y, restB := digits(b)
			if x != y {
				return cmp.Compare(x, y)
			}
			a, b = restA, restB
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// system returns what an inventory tells of the whole machine.
func system(in element) []Part {
	vendor, boot, tpm := in.child("system_vendor"), in.child("boot"), in.child("tpm")
	var secureBoot string
	if on, ok := boot["secure_boot"].(bool); ok {
		secureBoot = map[bool]string{true: "enabled", false: "disabled"}[on]
	}
	var out []Part
	for _, p := range []Part{
		{Name: "model", Is: words(vendor.text("manufacturer"), vendor.text("product_name"))},
		{Name: "serial number", Is: vendor.text("serial_number")},
		{Name: "asset tag", Is: vendor.text("asset_tag")},
		{Name: "BIOS", Is: vendor.child("firmware").text("version")},
		{Name: "processors", Is: words(in.child("cpu").text("count"), in.child("cpu").text("model_name"))},
		{Name: "memory", Is: in.child("memory").size("physical_mb", 20)},
		{Name: "TPM", Is: words(tpm.text("version"), tpm.labelled("firmware"))},
		{Name: "boot mode", Is: boot.text("current_boot_mode")},
		{Name: "secure boot", Is: secureBoot},
	} {
		if p.Is != "" {
			out = append(out, Part{Kind: System, Name: p.Name, Is: text.Line(p.Is, maxIs)})
		}
	}
	return out
}

// words joins the texts that are not empty.
func words(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), " ")
}

// element is an object of an inventory. Its methods return the zero value for what it lacks or has with another type.
type element map[string]any

func (e element) child(key string) element {
	switch v := e[key].(type) {
	case map[string]any:
		return v
	}
	return nil
}

func (e element) list(key string) ([]element, bool) {
	switch v := e[key].(type) {
	case []any:
		out := []element{}
		for _, one := range v {
			if o, ok := one.(map[string]any); ok {
				out = append(out, o)
			}
		}
		return out, true
	}
	return nil, false
}

func (e element) texts(key string) []string {
	all, _ := e[key].([]any)
	var out []string
	for _, one := range all {
		if s, ok := one.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// text returns a string, or a number as text.
func (e element) text(key string) string {
	switch v := e[key].(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return jsonvalue.Plain(v)
	}
	return ""
}

func (e element) first(keys ...string) string {
	for _, key := range keys {
		if v := e.text(key); v != "" {
			return v
		}
	}
	return ""
}

func (e element) labelled(key string) string {
	if v := e.text(key); v != "" {
		return key + " " + v
	}
	return ""
}

func (e element) count(key, of string) string {
	if n := e.number(key); n > 0 {
		return fmt.Sprintf("%.0f %s", n, of)
	}
	return ""
}

func (e element) number(key string) float64 {
	n, _ := strconv.ParseFloat(e.text(key), 64)
	return n
}

// size returns a size, of units of 2 to the power of shift bytes, in words; "" if there is none.
func (e element) size(key string, shift int) string {
	bytes := e.number(key) * float64(int64(1)<<shift)
	switch {
	case bytes <= 0:
		return ""
	case shift == 0: // disks are sold in decimal units
		return text.Size(bytes)
	}
	return strconv.FormatFloat(bytes/(1<<30), 'f', -1, 64) + " GiB"
}
