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

// volumeTime is how long a BMC may take to make or delete a volume.
const volumeTime = 30 * time.Minute

// createRAID makes the volumes of the node's target_raid_config.
func createRAID(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if len(t.node.TargetRAIDConfig) == 0 {
		return 0, fault.New(fault.Invalid, "Node %s has no target RAID configuration: set target_raid_config", t.node.UUID)
	}
	wanted, err := t.node.LogicalDisks(t.node.TargetRAIDConfig)
	if err != nil {
		return 0, err
	}
	return done, t.arrangeVolumes(ctx, step, wanted)
}

// applyRAID makes the volumes of the argument raid_config.
func applyRAID(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	wanted, err := t.node.LogicalDisks(step.Args[node.ArgRAIDConfig])
	if err != nil {
		return 0, fault.Coded(fault.StepArgumentWrong, "%s: %w", node.ArgRAIDConfig, err)
	}
	return done, t.arrangeVolumes(ctx, step, wanted)
}

// deleteRAID deletes all volumes.
func deleteRAID(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	volumes, err := t.volumes(ctx)
	if err != nil {
		return 0, err
	}
	all, err := t.deleteVolumes(ctx, step, volumes)
	if err != nil {
		return 0, err
	}
	return done, t.saveRAID(ctx, all)
}

// arrangeVolumes makes the wanted volumes that are not there, after it has deleted those that are there if the step says
// so. It finds drives for all of them before it changes anything.
func (t *task) arrangeVolumes(ctx context.Context, step *node.Step, wanted []node.LogicalDisk) error {
	volumes, err := t.volumes(ctx)
	if err != nil {
		return err
	}
	asked := func(w node.LogicalDisk) bool {
		if w.Root {
			return flagArg(step, node.ArgCreateRoot, true)
		}
		return flagArg(step, node.ArgCreateNonroot, true)
	}
	if flagArg(step, node.ArgDeleteExisting, false) && (step.Volumes == nil || !step.Volumes.Deleted) {
		if err := t.replaceVolumes(ctx, step, volumes, wanted, asked); err != nil {
			return err
		}
	}
	all, err := t.makeVolumes(ctx, step, volumes, wanted, asked)
	if err != nil {
		return err
	}
	return t.saveRAID(ctx, all)
}

// replaceVolumes deletes all volumes if the wanted ones can be made then.
func (t *task) replaceVolumes(ctx context.Context, step *node.Step, volumes volumeControl, wanted []node.LogicalDisk, asked func(node.LogicalDisk) bool) error {
	all, err := volumes.Controllers(ctx)
	if err != nil {
		return err
	}
	empty := slices.Clone(all)
	for i := range empty {
		empty[i].Volumes = nil
	}
	if _, err := missingVolumes(wanted, empty, nil, asked); err != nil {
		return err
	}
	if _, err := t.deleteVolumes(ctx, step, volumes); err != nil {
		return err
	}
	step.Volumes = &node.VolumeWork{Deleted: true}
	return t.save(ctx)
}

// makeVolumes makes one missing volume after the other, and returns what the BMC shows then.
func (t *task) makeVolumes(ctx context.Context, step *node.Step, volumes volumeControl, wanted []node.LogicalDisk, asked func(node.LogicalDisk) bool) ([]bmc.Controller, error) {
	if err := t.settleVolume(ctx, step, volumes); err != nil {
		return nil, err
	}
	sent := shownLater{t: t}
	for {
		all, err := volumes.Controllers(ctx)
		if err != nil {
			return nil, err
		}
		if step.Volumes == nil {
			step.Volumes = &node.VolumeWork{Before: pathsOf(all)} // saved before the first request
		}
		missing, err := missingVolumes(wanted, all, step.Volumes.Before, asked)
		if err != nil {
			return nil, fault.CodedAs(fault.KindOf(err), fault.RAIDRefused, "%w", err)
		}
		if len(missing) == 0 {
			return all, nil
		}
		v := missing[0]
		again, err := sent.before(ctx, fmt.Sprint(v))
		if err != nil {
			return nil, err
		}
		if again {
			continue
		}
		if err := t.askVolume(ctx, step, volumes, bmc.NameCreateVolume, func(ctx context.Context) (string, error) { return volumes.CreateVolume(ctx, v) }); err != nil {
			return nil, err
		}
	}
}

// deleteVolumes deletes all volumes one after the other, and returns what the BMC shows then.
func (t *task) deleteVolumes(ctx context.Context, step *node.Step, volumes volumeControl) ([]bmc.Controller, error) {
	if err := t.settleVolume(ctx, step, volumes); err != nil {
		return nil, err
	}
	sent := shownLater{t: t}
	for {
		all, err := volumes.Controllers(ctx)
		if err != nil {
			return nil, err
		}
		paths := pathsOf(all)
		if len(paths) == 0 {
			return all, nil
		}
		again, err := sent.before(ctx, paths[0])
		if err != nil {
			return nil, err
		}
		if again {
			continue
		}
		if err := t.askVolume(ctx, step, volumes, bmc.NameDeleteVolume(paths[0]), func(ctx context.Context) (string, error) { return volumes.DeleteVolume(ctx, paths[0]) }); err != nil {
			return nil, err
		}
	}
}

// shownLater waits for BMCs that show the effect of a request some time after they have answered it.
type shownLater struct {
	t     *task
	what  string
	until time.Time
}

// before reports whether what was asked for before, and pauses then. It fails if the BMC has not shown that for long.
func (s *shownLater) before(ctx context.Context, what string) (bool, error) {
	if s.what != what {
		s.what, s.until = what, time.Now().Add(s.t.Settings.PowerTimeout)
		return false, nil
	}
	if time.Now().After(s.until) {
		return false, fault.Coded(fault.RAIDRefused, "the BMC has accepted the request for a volume, and %s later its volumes are as before", s.t.Settings.PowerTimeout)
	}
	return true, s.t.sleepTelling(ctx, s.t.Settings.PowerPoll)
}

// askVolume records a request about a volume, sends it, and waits until the BMC has carried it out.
func (t *task) askVolume(ctx context.Context, step *node.Step, volumes volumeControl, name string, send func(context.Context) (task string, err error)) error {
	var task string
	err := t.sendOnce(ctx, step, node.Issued{Command: name}, func(ctx context.Context) (err error) {
		task, err = send(ctx)
		return err
	})
	if err != nil {
		return refusedAs(fault.RAIDRefused, err)
	}
	if task == "" {
		step.Issued = nil
		return nil
	}
	step.Issued.Task = task
	if err := t.save(ctx); err != nil {
		return err
	}
	return t.settleVolume(ctx, step, volumes)
}

// settleVolume waits until the BMC has carried out the request that is recorded on the step. If the answer to that was lost, it waits for
// all tasks of the BMC, of which one may be that of the request. Afterwards the volumes show whether it was carried out.
func (t *task) settleVolume(ctx context.Context, step *node.Step, volumes volumeControl) error {
	i := step.Issued
	if i == nil {
		return nil
	}
	if i.Task != "" {
		err := t.watchTask(ctx, volumes, i, i.Task)
		if err == nil || fault.Is(err, fault.Refused) {
			step.Issued = nil
		}
		return err
	}
	if _, err := t.awaitOthers(ctx, i.Command); err != nil {
		return err
	}
	running, err := volumes.RunningTasks(ctx)
	if err != nil {
		return err
	}
	for _, path := range running {
		if err := t.watchTask(ctx, volumes, i, path); err != nil && !fault.Is(err, fault.Refused) {
			return err
		}
	}
	step.Issued = nil
	return nil
}

// watchTask reads a task of the BMC until it has ended. The error is fault.Refused if it has failed.
func (t *task) watchTask(ctx context.Context, tasks bmc.TaskReader, i *node.Issued, path string) error {
	until := i.At.Add(volumeTime)
	next := backoff(t.Settings.PowerPoll)
	t.waitFor(node.Wait{For: node.WaitRequest, Subject: i.Command, Since: i.At, Until: &until, Every: t.Settings.PowerPoll})
	for {
		now, err := tasks.Task(ctx, path)
		switch {
		case fault.Is(err, fault.NotFound): // it has ended, and the BMC has forgotten it
			t.arrived()
			return nil
		case err != nil:
			t.missed(err)
			if err := t.whyNotReadAgain(ctx, err); err != nil {
				return err
			}
		case now.State == bmc.TaskFailed:
			return fault.Coded(fault.RAIDRefused, "the BMC could not %s: its task ended as %s: %s", i.Command, now.Word, now.Messages)
		case now.Over():
			t.arrived()
			return nil
		default:
			t.saw("task " + strings.ToLower(now.Word))
			if err := t.bmcAnswered(ctx); err != nil {
				return err
			}
		}
		if time.Now().After(until) {
			return fault.Coded(fault.RAIDRefused, "the BMC has not ended its task (%s) in %s", i.Command, volumeTime)
		}
		if err := t.guardAndTell(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, max(next(), bmc.RetryAfter(err))); err != nil {
			return err
		}
	}
}

// flagArg returns an argument that is a boolean.
func flagArg(step *node.Step, name string, otherwise bool) bool {
	if b, ok := step.Args[name].(bool); ok {
		return b
	}
	return otherwise
}

func pathsOf(all []bmc.Controller) (paths []string) {
	for _, c := range all {
		for _, v := range c.Volumes {
			paths = append(paths, v.Path)
		}
	}
	return paths
}

// lastUpdated is how Ironic writes the time of a raid_config.
const lastUpdated = "2006-01-02 15:04:05.000000"

// saveRAID records the volumes that the BMC shows as the node's raid_config, as Ironic does.
func (t *task) saveRAID(ctx context.Context, all []bmc.Controller) error {
	disks := []any{}
	for _, c := range all {
		for _, v := range c.Volumes {
			disks = append(disks, map[string]any{"id": v.ID, "name": v.Name, "controller": c.ID, "size_gb": v.Bytes / gib, "raid_level": v.Level})
		}
	}
	return t.saveRAIDConfig(ctx, disks)
}

func (t *task) saveRAIDConfig(ctx context.Context, disks []any) error {
	config := map[string]any{"logical_disks": disks, "last_updated": time.Now().UTC().Format(lastUpdated)}
	if err := t.Store.SaveRAID(ctx, t.op.ID, t.claim, config); err != nil {
		return err
	}
	t.node.RAIDConfig = config // the next step gives it to the agent
	return nil
}
