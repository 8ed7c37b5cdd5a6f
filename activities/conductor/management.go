package conductor

import (
	"context"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// setBootDevice sets the boot device that somebody has asked for.
func setBootDevice(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	device, err := t.bootDevice(ctx)
	if err != nil {
		return 0, err
	}
	asked := step.BootDevice()
	want := bmc.Boot{Device: bmc.Device(asked.Device), Persistent: asked.Persistent}
	offered, err := device.BootDevices(ctx)
	if err != nil {
		return 0, err
	}
	if !slices.Contains(offered, want.Device) {
		return 0, fault.CodedAs(fault.Invalid, fault.BootDeviceRefused, "Invalid boot device %s specified. The server can boot from %s.", asked.Device, joinDevices(offered))
	}
	// A persistent override would do for one boot, too, but it is not what was asked for.
	return done, t.setBootUnless(ctx, device, want, func(have bmc.Boot) bool { return have.Device == want.Device && have.Persistent == want.Persistent })
}

func joinDevices(all []bmc.Device) string {
	words := make([]string, len(all))
	for i, d := range all {
		words[i] = string(d)
	}
	if len(words) == 0 {
		return "no device that can be chosen"
	}
	return strings.Join(words, ", ")
}

// injectNMI interrupts the operating system. Nobody can read back whether it did, so it is sent at most once.
func injectNMI(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if err := sentBefore(step, bmc.NameNMI, "the NMI"); err != nil {
		return 0, err
	}
	_, p, err := t.currentPower(ctx)
	if err != nil {
		return 0, err
	}
	if p != bmc.PowerOn {
		return 0, fault.New(fault.Invalid, "an NMI interrupts what runs on a server, and this one is %s", powerWords(p))
	}
	interrupter, err := t.interrupter(ctx)
	if err != nil {
		return 0, err
	}
	return done, t.sendOnce(ctx, step, node.Issued{Command: bmc.NameNMI}, interrupter.InjectNMI)
}

// powerWords says after "is" what the power of a server is.
func powerWords(p bmc.Power) string {
	switch p {
	case bmc.PowerOn:
		return "on"
	case bmc.PowerOff:
		return "off"
	case bmc.PoweringOn, bmc.PoweringOff:
		return "being switched on or off"
	}
	return "in a power state that its BMC does not tell"
}
