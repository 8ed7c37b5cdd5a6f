package conductor

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/configdrive"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// agentPowerOff is how long an agent that was told to power off may take before the BMC
// switches the server off (Ironic: 6 reads, 5 s apart).
const agentPowerOff = 30 * time.Second

// bootForSteps boots the agent and merges the steps that it offers into the plan.
func bootForSteps(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	o, err := bootAgent(ctx, t, step)
	if err != nil || o != done {
		return o, err
	}
	return done, t.mergeAgentSteps(ctx)
}

// writeImage has the agent fetch the image, check it and write it to the disk.
func writeImage(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if step.Restarting {
		if o, err := t.bootAgain(ctx, step); err != nil || o != done {
			return o, err
		}
	}
	info, size, err := t.image(ctx)
	switch {
	case errors.Is(err, errEndAsked):
		return endAsked, nil
	case err != nil:
		return 0, err
	}
	if info.ImageType == agent.PartitionImage && t.node.BootMode == string(bmc.ModeBIOS) {
		return 0, fault.CodedAs(fault.Refused, fault.ImageInvalid, "the server boots by BIOS, and an image of a partition boots by UEFI only")
	}
	if step.Issued == nil {
		if err := t.checkDisk(ctx, size); err != nil {
			return 0, err
		}
	}
	run, err := t.runStepParams(ctx, step, agent.DeployFamily)
	if err != nil {
		return 0, err
	}
	args := mergeMaps(step.Args, map[string]any{"image_info": info})
	if given, ok := t.instanceInfo["configdrive"]; ok && given != nil && given != "" {
		drive, err := configdrive.Parse(given)
		if err != nil {
			return 0, fault.CodedAs(fault.KindOf(err), fault.ConfigDriveInvalid, "%w", err)
		}
		if args["configdrive"], err = drive.ForAgent(t.node.UUID, t.node.Name); err != nil {
			return 0, fault.CodedAs(fault.KindOf(err), fault.ConfigDriveInvalid, "%w", err)
		}
	}
	run.Step.Args = args
	o := agent.Order{Command: agent.ExecuteDeployStep, Interface: step.Interface, Step: step.Step}
	_, reached, err := t.runCommand(ctx, step, o, run)
	if err != nil {
		return 0, err
	}
	if !reached {
		return endAsked, nil
	}
	return done, nil
}

// checkDisk returns an error if the agent has no disk for an image of size bytes (0 = not known). Of a node that was never inspected nobody
// knew that before. If the agent does not tell its disks, writing the image shows whether it fits.
func (t *task) checkDisk(ctx context.Context, size int64) error {
	if !admission.MayNotFit(t.node, size) {
		return nil
	}
	c, err := t.agent(ctx)
	if err != nil {
		return nil //nolint:nilerr // runCommand says what that means for the step
	}
	var inventory map[string]any
	err = t.askAgent(ctx, func() (err error) {
		inventory, err = c.Disks(ctx)
		return err
	})
	switch {
	case fault.Is(err, fault.Lost), fault.Is(err, fault.Unavailable), ctx.Err() != nil:
		return err
	case err != nil:
		t.log.Info("the agent does not tell its disks, so nobody checks whether the image fits", zap.Error(err))
		return nil
	}
	return admission.FitsDisk(t.node, inventory, size)
}

// prepareInstanceBoot makes the written disk bootable, where the firmware needs
// an entry for it.
func prepareInstanceBoot(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	c, err := t.agent(ctx)
	if err != nil {
		return 0, err
	}
	var ids agent.PartitionUUIDs
	if err := t.askAgent(ctx, func() (err error) {
		ids, err = c.GetPartitionUUIDs(ctx)
		return err
	}); err != nil {
		return 0, err
	}
	mode := t.node.BootMode
	if mode == "" {
		mode = string(bmc.ModeUEFI)
	}
	if mode != string(bmc.ModeUEFI) && ids.RootUUID == "" {
		return done, nil
	}
	params := agent.BootloaderParams{RootUUID: ids.RootUUID, EFISystemUUID: ids.EFISystem, PRePUUID: ids.PReP, TargetBootMode: agent.Text(mode)}
	_, reached, err := t.runCommand(ctx, step, agent.Order{Command: agent.InstallBootloader}, params)
	if err != nil {
		return 0, err
	}
	if !reached {
		return endAsked, nil
	}
	return done, nil
}

// tearDownAgent has the agent power off the server. If it does not, the BMC does.
func tearDownAgent(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	s, p, err := t.currentPower(ctx)
	if err != nil {
		return 0, err
	}
	if p != bmc.PowerOff {
		if err := t.powerOffByAgent(ctx, step, s); err != nil {
			return 0, err
		}
	}
	t.pending.ClearAgent = true
	t.node.Agent, t.agentClient = nil, nil
	return done, nil
}

func (t *task) powerOffByAgent(ctx context.Context, step *node.Step, s bmc.PowerControl) error {
	if err := t.commandPowerOff(ctx, step); err != nil {
		return err
	}
	since := time.Now()
	if step.Issued != nil {
		since = step.Issued.At
	}
	until := since.Add(agentPowerOff)
	seen, err := t.watchPower(ctx, s, bmc.PowerOff, until, t.powerWait(step, bmc.PowerOff, since, t.givesUp(until, t.Settings.PowerTimeout), t.Settings.PowerTimeout))
	if err != nil || seen {
		return err
	}
	return t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout)
}

// commandPowerOff tells the agent to power off the server. If an earlier attempt has told it
// so, it is told again only if it answers and its list of commands does not have that one.
func (t *task) commandPowerOff(ctx context.Context, step *node.Step) error {
	told := step.Phase == "told"
	o := agent.Order{Command: agent.PowerOff}
	var list []agent.Result
	c, err := t.agent(ctx)
	if err == nil {
		list, err = c.Commands(ctx)
	}
	if told && (err != nil || agent.Next(o, issuedOf(step, o), list).Action != agent.ActIssue) {
		return context.Cause(ctx)
	}
	i := agent.Issue(o, list)
	step.Phase, step.Issued = "told", &node.Issued{At: time.Now().UTC(), Command: i.Command, Before: i.Before, After: i.After}
	if err := t.save(ctx); err != nil {
		return err
	}
	if c == nil {
		return nil
	}
	// The answer does not matter, because the power state is read.
	_, err = c.Start(ctx, agent.PowerOff, nil)
	switch {
	case fault.Is(err, fault.Lost) || fault.Is(err, fault.Unavailable): // it was not sent
		return err
	case fault.Is(err, fault.Unreachable) && !told && ctx.Err() == nil:
		return t.commandPowerOff(ctx, step) // its list of commands shows whether the first one arrived
	}
	return nil
}

// prepareDeploy leaves the server off, without media and without an agent of an earlier boot, in the boot mode of its instance.
func prepareDeploy(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
		return 0, err
	}
	t.pending.ClearAgent = true
	t.node.Agent = nil
	if err := t.fromDisk(ctx); err != nil {
		return 0, err
	}
	if err := t.secureInstance(ctx, false); err != nil {
		return 0, err
	}
	return done, t.instanceBootMode(ctx)
}

// bootInstance boots what was deployed. It removes the media of earlier boots and sets boot from disk, or from the instance's ISO image,
// and switches the server on.
func bootInstance(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if step.Phase == "" {
		if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
			return 0, err
		}
		if err := t.toInstance(ctx, step); err != nil {
			return 0, err
		}
		step.Phase = phaseOff
	}
	return done, t.powerInstance(ctx, step)
}

// toInstance makes a server that is off boot its instance next.
func (t *task) toInstance(ctx context.Context, step *node.Step) error {
	iso := t.node.InstanceISO(t.instanceInfo)
	if iso == "" || !step.Inserting() {
		if err := t.fromDisk(ctx); err != nil {
			return err
		}
	}
	if iso != "" {
		if err := t.insertISO(ctx, step, iso); err != nil {
			return err
		}
	}
	return t.secureInstance(ctx, true)
}

// powerInstance switches on a server that boots its instance. The ISO image of an instance stays in the drive until the node is given back.
func (t *task) powerInstance(ctx context.Context, step *node.Step) error {
	if err := t.powerTo(ctx, step, bmc.PowerOn, bmc.RequestOn, t.Settings.PowerTimeout); err != nil {
		return err
	}
	t.undone(node.UndoBootInstance, node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot)
	return nil
}

// switchNetwork does nothing: the network interface noop is the only one there is.
func switchNetwork(_ context.Context, t *task, _ *node.Step) (outcome, error) {
	if t.node.Implementation("network").Means != node.MeansNoop {
		return 0, t.node.Unsupported("network")
	}
	return done, nil
}
