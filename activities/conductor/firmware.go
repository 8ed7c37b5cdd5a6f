package conductor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// updateFirmware updates components one after the other. What was begun for each of them is on the step, so that an update is sent once,
// whichever conductor goes on. An update that has changed no version holds for a person (fault.FirmwareUnchanged).
func updateFirmware(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	orders, err := node.FirmwareOrders(t.stepArgs(step)[node.ArgSettings])
	if err != nil {
		return 0, err
	}
	control, err := t.firmwareControl(ctx)
	if err != nil {
		return 0, err
	}
	for i, order := range orders {
		if len(step.Updates) == i {
			step.Updates = append(step.Updates, node.FirmwareUpdate{Component: order.Component})
		}
		for !step.Updates[i].Done {
			out, err := t.advanceUpdate(ctx, step, control, order, &step.Updates[i])
			if err != nil || out != done {
				return out, err
			}
			if err := t.save(ctx); err != nil {
				return 0, err
			}
		}
	}
	return done, nil
}

// advanceUpdate does what comes next of an update: begin it, follow its task, boot the server that has to apply it, read the version back.
func (t *task) advanceUpdate(ctx context.Context, step *node.Step, control firmwareControl, order node.FirmwareOrder, u *node.FirmwareUpdate) (outcome, error) {
	switch {
	case u.Sent == nil:
		return done, t.beginUpdate(ctx, step, control, order, u)
	case !u.Ended:
		return t.followUpdate(ctx, step, control, order, u)
	case u.Boots && !u.Booted:
		out, err := t.bootToApply(ctx, step)
		if err == nil && out == done {
			u.HasBooted(time.Now().UTC())
		}
		return out, err
	}
	return done, t.readUpdateBack(ctx, step, control, order, u)
}

// beginUpdate sends the update, unless an attempt before has changed the version. The request is recorded with the tasks that the BMC
// had before: if its answer is lost, a task that is new is that of the update.
func (t *task) beginUpdate(ctx context.Context, step *node.Step, control firmwareControl, order node.FirmwareOrder, u *node.FirmwareUpdate) error {
	name := bmc.NameUpdateFirmware(order.URL)
	if sent := step.Issued; sent != nil && sent.Command == name && (sent.Sent == nil || *sent.Sent != t.op.RequestsSent) {
		return t.findUpdate(ctx, step, control, u, name)
	}
	all, err := control.Firmware(ctx)
	if err != nil {
		return err
	}
	version, ok := versionOf(all, order.Component)
	if !ok {
		return fault.Coded(fault.StepArgumentWrong, "settings: the server has no firmware component %s; it has %s", order.Component, componentsOf(all))
	}
	if u.Before != "" && version != u.Before {
		return t.endUpdate(ctx, all, u, version)
	}
	if err := t.keepFirmware(ctx, all, ""); err != nil {
		return err
	}
	known, err := control.Tasks(ctx)
	if err != nil {
		return err
	}
	u.Before = version
	recorded := t.op.RequestsSent // if it stays so, the conductor has ended while it fetched the image, and nothing was sent
	err = t.sendOnce(ctx, step, node.Issued{Command: name, Known: known, Sent: &recorded}, func(ctx context.Context) (err error) {
		u.Task, err = control.UpdateFirmware(ctx, t.firmwareImage(order))
		return err
	})
	switch {
	case fault.Is(err, fault.Unreachable) && step.Issued != nil && ctx.Err() == nil:
		return err // it is looked for when the step is tried again
	case err != nil:
		return refusedAs(fault.FirmwareRefused, err)
	}
	if u.Begun(step.Issued.At); u.Task == "" {
		u.Known = known
	}
	step.Issued = nil
	return nil
}

// firmwareImage is the image of an update. If the BMC does not fetch it, or there is a checksum to compare it with, the conductor fetches it.
func (t *task) firmwareImage(order node.FirmwareOrder) bmc.FirmwareImage {
	image := bmc.FirmwareImage{URL: order.URL, Checked: order.Checksum != ""}
	if t.FetchFirmware != nil {
		image.Open = func(ctx context.Context) (bmc.FirmwareFile, error) {
			return t.FetchFirmware(ctx, order.URL, order.Checksum)
		}
	}
	return image
}

// findUpdate looks for the task of an update whose answer is not known. Without one nobody knows whether the BMC has begun the update, and
// a second one might meet the first in the middle.
func (t *task) findUpdate(ctx context.Context, step *node.Step, control firmwareControl, u *node.FirmwareUpdate, name string) error {
	if _, err := t.awaitOthers(ctx, ""); err != nil {
		return err
	}
	now, err := control.Tasks(ctx)
	if err != nil {
		return err
	}
	if u.Task = taskSince(now, step.Issued.Known); u.Task != "" {
		t.tookEffect(name)
		u.Begun(step.Issued.At)
		step.Issued = nil
		return nil
	}
	if all, err := control.Firmware(ctx); err == nil {
		if version, ok := versionOf(all, u.Component); ok && u.Before != "" && version != u.Before {
			step.Issued = nil
			return t.endUpdate(ctx, all, u, version)
		}
	}
	return sentBefore(step, name, "the update of "+u.Component)
}

// taskSince returns the last one of the tasks that is not known; "" = there is none.
func taskSince(tasks, known []string) string {
	for _, path := range slices.Backward(tasks) {
		if !slices.Contains(known, path) {
			return path
		}
	}
	return ""
}

// followUpdate reads the task until it has ended. A task that waits for a boot of the server gets one, unless the BMC is updated.
func (t *task) followUpdate(ctx context.Context, step *node.Step, control firmwareControl, order node.FirmwareOrder, u *node.FirmwareUpdate) (outcome, error) {
	until := u.Sent.Add(t.Settings.FirmwareTimeout)
	w := node.Wait{For: node.WaitFirmware, Subject: u.Component, Since: *u.Sent, Until: &until, Every: t.Settings.FirmwarePoll}
	t.waitFor(w)
	next := backoff(t.Settings.FirmwarePoll)
	for {
		task, err := t.readTask(ctx, control, u)
		switch {
		case err == nil && task.State == bmc.TaskEnded:
			t.arrived()
			u.Ended = true
			now := time.Now().UTC().Add(order.Wait)
			u.ReadFrom = &now
			return done, nil
		case err == nil && task.State == bmc.TaskFailed:
			t.arrived()
			u.Again()
			return 0, fault.Coded(fault.FirmwareFailed, "the BMC's task for the update of %s ended as %s: %s", u.Component, task.Word, task.Messages)
		case err == nil:
			t.sawTask(task)
			if err := t.bmcAnswered(ctx); err != nil {
				return 0, err
			}
			if err := t.noteWaits(ctx, task, u); err != nil {
				return 0, err
			}
			if u.Waits != nil && u.Component != node.ComponentBMC && time.Since(*u.Waits) >= t.Settings.FirmwareStart {
				out, err := t.bootForUpdate(ctx, step, u)
				if err != nil || out != done {
					return out, err
				}
				t.waitFor(w)
			}
		default:
			t.missed(err)
			if err := t.whyNotReadAgain(ctx, err); err != nil {
				return 0, err
			}
		}
		if !time.Now().Before(until) {
			u.Again()
			return 0, fault.Coded(fault.FirmwareFailed, "the update of %s has not ended %s after it was sent", u.Component, t.Settings.FirmwareTimeout)
		}
		if err := t.tell(ctx); err != nil {
			return 0, err
		}
		if err := sleep(ctx, min(max(next(), bmc.RetryAfter(err)), max(time.Until(until), 0))); err != nil {
			return 0, err
		}
	}
}

// readTask reads the task of an update, which it looks for if the BMC has not named it. A BMC that has none, or has forgotten it, as when it
// has restarted, can't tell more: what the update has done is read back.
func (t *task) readTask(ctx context.Context, control firmwareControl, u *node.FirmwareUpdate) (bmc.Task, error) {
	if u.Task == "" {
		now, err := control.Tasks(ctx)
		if err != nil {
			return bmc.Task{}, err
		}
		if u.Task = taskSince(now, u.Known); u.Task == "" {
			u.Unseen = true
			return bmc.Task{State: bmc.TaskEnded}, nil
		}
		u.Known = nil
	}
	task, err := control.Task(ctx, u.Task)
	if fault.Is(err, fault.NotFound) {
		u.Unseen = true
		return bmc.Task{State: bmc.TaskEnded}, nil
	}
	return task, err
}

// noteWaits notes since when the task waits for a boot. It may do so shortly before it begins.
func (t *task) noteWaits(ctx context.Context, task bmc.Task, u *node.FirmwareUpdate) error {
	if waits := task.State == bmc.TaskWaits; waits == (u.Waits != nil) {
		return nil
	}
	if u.Waits != nil {
		u.Waits = nil
	} else {
		now := time.Now().UTC()
		u.Waits = &now
	}
	return t.save(ctx)
}

func (t *task) sawTask(task bmc.Task) {
	seen := "task " + strings.ToLower(task.Word)
	if task.Percent >= 0 {
		t.op.StepWait.Advance(float64(task.Percent)/100, 0, time.Now().UTC())
		seen += fmt.Sprintf(", %d %%", task.Percent)
	}
	t.saw(seen)
}

// bootForUpdate boots the server once, whose boot the task waits for.
func (t *task) bootForUpdate(ctx context.Context, step *node.Step, u *node.FirmwareUpdate) (outcome, error) {
	if u.Booted {
		return done, nil
	}
	if !u.Boots {
		u.Boots, step.Phase = true, ""
		if err := t.save(ctx); err != nil {
			return 0, err
		}
	}
	out, err := t.bootToApply(ctx, step)
	if err != nil || out != done {
		return out, err
	}
	u.HasBooted(time.Now().UTC())
	return done, t.save(ctx)
}

// readUpdateBack reads the version until it has changed. A component that is not the BMC may need a boot for that. Where nobody
// has seen the task end, it may still be written: the boot waits until the time is over. When it is over after that, the version is as
// before: the update was accepted and has changed nothing.
func (t *task) readUpdateBack(ctx context.Context, step *node.Step, control firmwareControl, order node.FirmwareOrder, u *node.FirmwareUpdate) error {
	until, last := u.ReadFrom.Add(t.Settings.FirmwareSettle), u.ReadFrom.Add(t.Settings.FirmwareTimeout)
	w := node.Wait{For: node.WaitFirmware, Subject: u.Component, Since: *u.Sent, Until: &until, Every: t.Settings.FirmwarePoll}
	t.waitFor(w)
	if err := t.sleepTelling(ctx, time.Until(*u.ReadFrom)); err != nil {
		return err
	}
	next := backoff(t.Settings.FirmwarePoll)
	for {
		all, err := control.Firmware(ctx)
		version, shown := versionOf(all, u.Component)
		switch {
		case err != nil:
			t.missed(err)
			if err := t.whyNotReadAgain(ctx, err); err != nil {
				return err
			}
			now := time.Now().UTC()
			if now.After(last) {
				return err
			}
			until = now.Add(t.Settings.FirmwareSettle) // it begins when the BMC is back
		case shown && version != u.Before:
			t.arrived()
			return t.endUpdate(ctx, all, u, version)
		case u.Component != node.ComponentBMC && !u.Boots && (!u.Unseen || !time.Now().Before(until)):
			return t.bootsNext(ctx, step, control, u)
		default:
			t.saw("version " + version)
			if !time.Now().Before(until) {
				t.arrived()
				return t.unchanged(ctx, all, order, u)
			}
		}
		if err := t.tell(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, min(max(next(), bmc.RetryAfter(err)), max(time.Until(until), 0))); err != nil {
			return err
		}
	}
}

// bootsNext has the server booted next, unless the BMC has begun a task for the update late.
func (t *task) bootsNext(ctx context.Context, step *node.Step, control firmwareControl, u *node.FirmwareUpdate) error {
	if u.Task == "" {
		now, err := control.Tasks(ctx)
		if err != nil {
			return err
		}
		if u.Task = taskSince(now, u.Known); u.Task != "" {
			u.Ended, u.Unseen, u.Known = false, false, nil
			return nil
		}
	}
	u.Boots, step.Phase = true, ""
	return nil
}

func (t *task) unchanged(ctx context.Context, all []bmc.FirmwareVersion, order node.FirmwareOrder, u *node.FirmwareUpdate) error {
	if err := t.keepFirmware(ctx, all, ""); err != nil {
		return err
	}
	u.Again()
	return fault.Coded(fault.FirmwareUnchanged, "the BMC has accepted the update of %s with %s, and the version is still %s", u.Component, mediumName(order.URL), u.Before)
}

// endUpdate notes that the update has changed the version.
func (t *task) endUpdate(ctx context.Context, all []bmc.FirmwareVersion, u *node.FirmwareUpdate, version string) error {
	u.After, u.Done = version, true
	return t.keepFirmware(ctx, all, u.Component)
}

// keepFirmware keeps the versions for lists. flashed is the component that was updated just now; "" = none.
func (t *task) keepFirmware(ctx context.Context, all []bmc.FirmwareVersion, flashed string) error {
	var before node.FirmwareReading
	if err := t.kept(ctx, "firmware", &before); err != nil {
		return err
	}
	now := node.FirmwareReading{Components: []node.FirmwareComponent{}}
	for _, v := range all {
		c := node.FirmwareComponent{Component: v.Component, Initial: v.Version, Current: v.Version}
		if i := slices.IndexFunc(before.Components, func(old node.FirmwareComponent) bool { return old.Component == v.Component }); i >= 0 {
			c.Initial, c.Flashed = before.Components[i].Initial, before.Components[i].Flashed
		}
		if v.Component == flashed {
			c.Flashed = v.Version
		}
		now.Components = append(now.Components, c)
	}
	return t.keep(ctx, "firmware", now)
}

func (t *task) refreshFirmware(ctx context.Context) error {
	s, err := t.bmc(ctx)
	if err != nil || s.FirmwareControl == nil {
		return err
	}
	all, err := s.Firmware(ctx)
	if err != nil {
		return err
	}
	return t.keepFirmware(ctx, all, "")
}

func versionOf(all []bmc.FirmwareVersion, component string) (string, bool) {
	i := slices.IndexFunc(all, func(v bmc.FirmwareVersion) bool { return v.Component == component })
	if i < 0 {
		return "", false
	}
	return all[i].Version, true
}

func componentsOf(all []bmc.FirmwareVersion) string {
	var names []string
	for _, v := range all {
		names = append(names, v.Component)
	}
	if names == nil {
		return "none whose version the BMC shows"
	}
	return strings.Join(names, ", ")
}
