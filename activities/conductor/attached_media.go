package conductor

import (
	"context"
	"math"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// kindOfDrive has the driver's name of each device type.
var kindOfDrive = map[string]string{node.MediaCDROM: "cd", node.MediaDisk: "usb", node.MediaFloppy: "floppy"}

// attachMedia inserts an image into an empty virtual drive. Many BMCs download the image before they answer, and go on after the client has
// hung up. So the request is recorded before it is sent, and an attempt that finds the record looks for the image, for as long as an
// insertion may take, before it sends anything.
func attachMedia(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	drives, err := t.mediaDrives(ctx)
	if err != nil {
		return 0, err
	}
	kind, url := kindOfDrive[textArg(step.Args, node.ArgDeviceType)], textArg(t.stepArgs(step), node.ArgImageURL)
	name := bmc.NameInsert(url)
	if step.Issued != nil {
		shown, err := t.watchDrives(ctx, drives, kind, url, t.insertionOver(step.Issued), noDrives)
		if err != nil {
			return 0, err
		}
		if shown {
			t.tookEffect(name)
			return done, nil
		}
		step.Issued = nil
	}
	shown, err := t.watchDrives(ctx, drives, kind, url, time.Now(), noDrives)
	if shown || err != nil {
		return done, err
	}
	before, _, err := drives.ReadDrives(ctx, kind)
	if err != nil {
		return 0, err
	}
	err = t.sendOnce(ctx, step, node.Issued{Command: name}, func(ctx context.Context) error { return drives.AttachMedia(ctx, kind, url) })
	if fault.Is(err, fault.OutcomeUnknown) {
		return 0, fault.New(fault.Unreachable, "%w", err) // the next attempt looks first
	}
	if err != nil {
		return 0, refusedAs(fault.VirtualMediaRefused, err)
	}
	shown, err = t.watchDrives(ctx, drives, kind, url, t.insertionOver(step.Issued), full(before)+1)
	if err == nil && !shown {
		err = fault.CodedAs(fault.Unreachable, fault.VirtualMediaRefused, "the BMC accepted the virtual medium but does not show it %s later", t.Settings.MediaTimeout)
	}
	return done, err
}

// noDrives is more drives than any server has.
const noDrives = math.MaxInt

// full counts the drives that have a medium.
func full(drives []bmc.Media) (n int) {
	for _, m := range drives {
		if m.Inserted {
			n++
		}
	}
	return n
}

// watchDrives reads the virtual drives of a kind until one has the image, or so many of them have a medium, of which some BMCs do not show
// the image. It reports whether it was so before the time until. It reads at least once.
func (t *task) watchDrives(ctx context.Context, drives bmc.MediaDrives, kind, url string, until time.Time, filled int) (bool, error) {
	next := backoff(t.Settings.MediaPoll)
	for {
		all, _, err := drives.ReadDrives(ctx, kind)
		if err != nil {
			return false, err
		}
		if full(all) >= filled {
			return true, nil
		}
		for _, m := range all {
			if m.Inserted && m.Image != "" && m.MayHold(url) {
				return true, nil
			}
		}
		if !time.Now().Before(until) {
			return false, nil
		}
		if err := t.sleepTelling(ctx, next()); err != nil {
			return false, err
		}
	}
}

// detachMedia empties the virtual drives of the device types that were asked for, or all. The driver looks at each before it ejects its
// medium.
func detachMedia(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	drives, err := t.driveEjector(ctx)
	if err != nil {
		return 0, err
	}
	types, _ := step.Args[node.ArgDeviceTypes].([]any)
	if len(types) == 0 {
		return done, refusedAs(fault.VirtualMediaRefused, drives.EjectDrives(ctx, ""))
	}
	for _, v := range types {
		name, _ := v.(string)
		if err := drives.EjectDrives(ctx, kindOfDrive[name]); err != nil {
			return 0, refusedAs(fault.VirtualMediaRefused, err)
		}
	}
	return done, nil
}
