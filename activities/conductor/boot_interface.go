package conductor

import (
	"context"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// bootInterface makes a server boot the ramdisk once, and its disk from then on. There is
// one for each boot method of package node. All methods may run twice.
type bootInterface interface {
	// prepareRamdisk makes a server that is off boot the ramdisk next. again means that the
	// server is on, so that the settings might apply to another boot: the step has to
	// start from its first phase.
	prepareRamdisk(ctx context.Context, t *task, step *node.Step) (again bool, err error)
	// insertISO makes a server that is off boot the ISO image next and, if persistent, at every boot after that.
	insertISO(ctx context.Context, t *task, step *node.Step, iso string, persistent bool) error
	// cleanUpRamdisk removes the ramdisk, so that the next boot is from disk.
	cleanUpRamdisk(ctx context.Context, t *task) error
	// giveUpRamdisk does as much of cleanUpRamdisk as is possible after that has failed for good.
	giveUpRamdisk(ctx context.Context, t *task)
}

// bootInterfaces are the boot interfaces by their method.
var bootInterfaces = map[node.BootMethod]bootInterface{
	node.BootFake:         noRamdisk{},
	node.BootVirtualMedia: virtualMediaBoot{},
	node.BootNetwork:      networkBoot{device: bmc.DevicePXE},
	node.BootHTTP:         networkBoot{device: bmc.DeviceUEFIHTTP},
	node.BootHTTPImage:    imageBoot{networkBoot{device: bmc.DeviceUEFIHTTP}},
}

// boot is the boot interface of the node.
func (t *task) boot() (bootInterface, error) {
	b, ok := bootInterfaces[t.node.Implementation("boot").Boot]
	if !ok {
		return nil, t.node.Unsupported("boot")
	}
	return b, nil
}

// fromDisk removes the ramdisk, so that the next boot is from disk. It does nothing if the
// node's driver can't boot a ramdisk.
func (t *task) fromDisk(ctx context.Context) error {
	b, err := t.boot()
	if err != nil {
		b = noRamdisk{}
	}
	return b.cleanUpRamdisk(ctx, t)
}

// insertISO makes the server, which is off, boot the ISO image of its instance. What would have to be undone is recorded before.
func (t *task) insertISO(ctx context.Context, step *node.Step, iso string) error {
	b, err := t.boot()
	if err != nil {
		return err
	}
	t.addUndo(node.UndoEjectMedia, node.UndoClearBoot)
	if err := t.save(ctx); err != nil {
		return err
	}
	return b.insertISO(ctx, t, step, iso, t.node.BootsPersistently())
}

// noRamdisk is the boot interface where there is no ramdisk: fake hardware.
type noRamdisk struct{}

func (noRamdisk) prepareRamdisk(ctx context.Context, t *task, _ *node.Step) (bool, error) {
	_, err := t.Store.BeginBoot(ctx, t.op.ID, t.claim, nil)
	return false, err
}

func (noRamdisk) insertISO(context.Context, *task, *node.Step, string, bool) error { return nil }

func (noRamdisk) cleanUpRamdisk(_ context.Context, t *task) error {
	t.undone(node.UndoEjectMedia, node.UndoClearBoot)
	return nil
}

func (noRamdisk) giveUpRamdisk(context.Context, *task) {}

// virtualMediaBoot boots the ramdisk from the BMC's virtual CD, with a one-time boot
// override.
type virtualMediaBoot struct{}

// prepareRamdisk sets media and override and reads them back.
func (virtualMediaBoot) prepareRamdisk(ctx context.Context, t *task, step *node.Step) (bool, error) {
	media, err := t.virtualMedia(ctx)
	if err != nil {
		return false, err
	}
	device, ramdisk, on, err := t.toBoot(ctx, node.UndoEjectMedia, node.UndoClearBoot)
	if err != nil || on {
		return on, err
	}
	iso, err := t.bootImage(ctx, ramdisk)
	if err != nil {
		return false, err
	}
	if err := t.setMedia(ctx, step, media, iso); err != nil {
		return false, err
	}
	return false, t.setBoot(ctx, device, bmc.Boot{Device: bmc.DeviceCDROM})
}

func (virtualMediaBoot) insertISO(ctx context.Context, t *task, step *node.Step, iso string, persistent bool) error {
	media, device, err := t.mediaAndDevice(ctx)
	if err != nil {
		return err
	}
	if err := t.setMedia(ctx, step, media, iso); err != nil {
		return err
	}
	return t.setBoot(ctx, device, bmc.Boot{Device: bmc.DeviceCDROM, Persistent: persistent})
}

func (virtualMediaBoot) cleanUpRamdisk(ctx context.Context, t *task) error {
	media, device, err := t.mediaAndDevice(ctx)
	if err != nil {
		return err
	}
	if err := t.ejectMedia(ctx, media); err != nil {
		return err
	}
	t.undone(node.UndoEjectMedia)
	if err := t.setBoot(ctx, device, bmc.Boot{Device: bmc.DeviceNone}); err != nil {
		return err
	}
	t.undone(node.UndoClearBoot)
	return nil
}

// giveUpRamdisk clears the boot override although the drive can't be emptied.
func (virtualMediaBoot) giveUpRamdisk(ctx context.Context, t *task) {
	if device, err := t.bootDevice(ctx); err == nil && t.setBoot(ctx, device, bmc.Boot{Device: bmc.DeviceNone}) == nil {
		t.undone(node.UndoClearBoot)
	}
}

// toBoot returns what boots the node's ramdisk, and records before anything is set what would have to be undone. on means that the server
// is on.
func (t *task) toBoot(ctx context.Context, undo ...node.Undo) (device bmc.BootDevice, ramdisk node.Ramdisk, on bool, err error) {
	if device, err = t.bootDevice(ctx); err != nil {
		return nil, node.Ramdisk{}, false, err
	}
	if ramdisk, err = t.ramdisk(); err != nil {
		return nil, node.Ramdisk{}, false, err
	}
	if on, err = t.isOn(ctx); err != nil || on {
		return nil, node.Ramdisk{}, on, err
	}
	t.addUndo(undo...)
	return device, ramdisk, false, t.save(ctx)
}

// bootImage lets the agent be looked up from now on, and returns the URL of its ISO when that can be read.
func (t *task) bootImage(ctx context.Context, r node.Ramdisk) (iso string, err error) {
	if iso, err = t.beginBoot(ctx, r); err != nil {
		return "", err
	}
	if r.Files != (node.Files{}) {
		err = t.awaitMedium(ctx, iso)
	}
	return iso, err
}

// isOn reports whether the server is not off, so that what is set might apply to another boot.
func (t *task) isOn(ctx context.Context) (bool, error) {
	power, err := t.powerControl(ctx)
	if err != nil {
		return false, err
	}
	p, err := power.Power(ctx)
	return err == nil && p != bmc.PowerOff, err
}

func (t *task) mediaAndDevice(ctx context.Context) (bmc.VirtualMedia, bmc.BootDevice, error) {
	media, err := t.virtualMedia(ctx)
	if err != nil {
		return nil, nil, err
	}
	device, err := t.bootDevice(ctx)
	return media, device, err
}

// setBoot sets the boot override to want.
func (t *task) setBoot(ctx context.Context, s bmc.BootDevice, want bmc.Boot) error {
	return t.setBootUnless(ctx, s, want, func(have bmc.Boot) bool { return have.Fulfils(want) })
}

// setBootUnless sets the boot override, unless what the BMC has is enough, and reads it back. If the answer is lost, what
// it reads decides whether it succeeded.
func (t *task) setBootUnless(ctx context.Context, s bmc.BootDevice, want bmc.Boot, enough func(bmc.Boot) bool) error {
	have, err := s.Boot(ctx)
	if err != nil {
		return err
	}
	if enough(have) {
		waited, err := t.awaitOthers(ctx, want.Name())
		if err != nil || !waited {
			return err
		}
		return t.setBootUnless(ctx, s, want, enough)
	}
	sent := s.SetBoot(ctx, want)
	if sent != nil && !fault.Is(sent, fault.Unreachable) || t.readBackByAnother(ctx, sent) {
		return refusedAs(fault.BootDeviceRefused, sent)
	}
	have, err = s.Boot(ctx)
	if err != nil {
		return err
	}
	if enough(have) || sent == nil && have.Fulfils(want) {
		t.tookEffect(want.Name())
		return nil
	}
	if sent != nil {
		return sent
	}
	return fault.CodedAs(fault.Unreachable, fault.BootDeviceRefused, "the BMC took the boot device %s but shows %s", want, have)
}
