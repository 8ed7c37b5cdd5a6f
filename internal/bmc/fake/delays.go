package fake

import (
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// Delays has the delay of each interface of fake-hardware. The zero value has none.
type Delays struct {
	Power, Management, Boot, Deploy, Clean, Inspect, BIOS, RAID,
	Firmware, Vendor, Rescue, Network, Storage, Verify Delay
}

// option is a setting: Ironic's name of the interface that it delays, and its field.
type option struct {
	iface string
	field func(*Delays) *Delay
}

// options has Ironic's [fake] names less "_delay"; clean, network and verify are ours.
var options = []option{
	{"power", func(d *Delays) *Delay { return &d.Power }},
	{"management", func(d *Delays) *Delay { return &d.Management }},
	{"boot", func(d *Delays) *Delay { return &d.Boot }},
	{"deploy", func(d *Delays) *Delay { return &d.Deploy }},
	{"clean", func(d *Delays) *Delay { return &d.Clean }},
	{"inspect", func(d *Delays) *Delay { return &d.Inspect }},
	{"bios", func(d *Delays) *Delay { return &d.BIOS }},
	{"raid", func(d *Delays) *Delay { return &d.RAID }},
	{"firmware", func(d *Delays) *Delay { return &d.Firmware }},
	{"vendor", func(d *Delays) *Delay { return &d.Vendor }},
	{"rescue", func(d *Delays) *Delay { return &d.Rescue }},
	{"network", func(d *Delays) *Delay { return &d.Network }},
	{"storage", func(d *Delays) *Delay { return &d.Storage }},
	{"verify", func(d *Delays) *Delay { return &d.Verify }},
}

// Options returns the names that ParseDelays accepts: power_delay, boot_delay, ...
func Options() []string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.iface + "_delay"
	}
	return names
}

// ParseDelays parses settings by Ironic's option names, each in the notation of
// ParseDelay. It returns fault.Invalid that names every option that is unknown or wrong.
func ParseDelays(settings map[string]string) (Delays, error) {
	var d Delays
	var wrong []string
	for name, value := range settings {
		i := slices.Index(Options(), name)
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("%.40q is no fake delay", name))
			continue
		}
		delay, err := ParseDelay(value)
		if err != nil {
			wrong = append(wrong, name+": "+err.Error())
			continue
		}
		*options[i].field(&d) = delay
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return Delays{}, fault.New(fault.Invalid, "%s", strings.Join(wrong, "; "))
	}
	return d, nil
}

// For returns the delay of an interface by Ironic's name for it (power, deploy, ...),
// no delay for an unknown name.
func (d Delays) For(iface string) Delay {
	for _, o := range options {
		if o.iface == iface {
			return *o.field(&d)
		}
	}
	return Delay{}
}
