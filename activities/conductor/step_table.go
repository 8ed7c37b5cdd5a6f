package conductor

import (
	"context"
	"slices"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// stepFunc runs one step. It looks before it acts and may run twice.
type stepFunc func(ctx context.Context, t *task, step *node.Step) (outcome, error)

// stepFuncs has the function of each row of the table of steps (node.StepRules), by the
// row's name. Steps of the agent have none: the agent runs them.
var stepFuncs map[string]stepFunc

func init() {
	stepFuncs = map[string]stepFunc{
		"power.verify":   verifyPower,
		"power.on":       powerOn,
		"power.off":      powerOff,
		"power.soft_off": powerSoftOff,
		"power.reset":    powerReset,

		"management.undo": payOwed,

		"deploy.prepare":                  prepareDeploy,
		"deploy.deploy":                   bootToDeploy,
		"deploy.write_image":              writeImage,
		"deploy.prepare_instance_boot":    prepareInstanceBoot,
		"deploy.tear_down_agent":          tearDownAgent,
		"deploy.switch_to_tenant_network": noNetwork,
		"deploy.boot_instance":            bootInstance,

		"deploy.prepare_cleaning":   prepareCleaning,
		"deploy.tear_down_cleaning": tearDownCleaning,
		"deploy.tear_down":          tearDown,

		"inspect.inspect_hardware": inspectHardware,
		"inspect.boot_agent":       bootAgent,
		"inspect.collect":          collectInventory,
		"inspect.tear_down":        tearDownInspection,

		"deploy.erase_devices":          fakeOnly,
		"deploy.erase_devices_metadata": fakeOnly,
		"deploy.erase_devices_express":  fakeOnly,
		"bios.apply_configuration":      fakeOnly,
		"bios.factory_reset":            fakeOnly,
		"firmware.update":               fakeOnly,
		"raid.apply_configuration":      fakeOnly,
		"raid.create_configuration":     fakeOnly,
		"raid.delete_configuration":     fakeOnly,

		node.StepHold:     hold,
		node.StepWait:     waitStep,
		node.StepPowerOn:  powerOn,
		node.StepPowerOff: powerOff,
		node.StepReboot:   reboot,
	}
}

// funcOf returns how a step is run: a step of the agent by the agent, any other by the
// function of its row of the table.
func funcOf(step *node.Step) stepFunc {
	if step.Source == node.SourceAgent && !node.IsReserved(step.Step) {
		return runAgentStep
	}
	if run, ok := stepFuncs[step.Rule().Name()]; ok {
		return run
	}
	return unknownStep
}

// unknownStep fails a step that another version of the program has planned.
func unknownStep(_ context.Context, t *task, step *node.Step) (outcome, error) {
	return 0, fault.New(fault.Invalid, "node %s: conductor %s has no step %s: use one version of temper for all roles", t.node.UUID, t.Settings.Conductor, step.Name())
}

// fakeOnly runs a step that only fake interfaces offer out of band.
func fakeOnly(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if !t.isFake(step.Interface) {
		return unknownStep(ctx, t, step)
	}
	return over, fakeStep(ctx, t, step.Interface)
}

// fakeStep obeys: it takes as long as the settings say.
func fakeStep(ctx context.Context, t *task, iface string) error {
	if t.Fake == nil {
		return nil
	}
	return t.Fake(ctx, iface)
}

// isFake: the step's interface is implemented by fake hardware.
func (t *task) isFake(iface string) bool {
	return t.node.Implementation(iface).Means == node.MeansFake
}

// prepareDeploy leaves nothing of an earlier life: the server off, no media in.
func prepareDeploy(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
		return 0, err
	}
	t.pending.ClearAgent = true
	t.node.Agent = nil
	return over, t.fromDisk(ctx)
}

// bootInstance starts what was deployed: no media, boot from disk, on and seen on.
func bootInstance(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if step.Phase == "" {
		if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
			return 0, err
		}
		if err := t.fromDisk(ctx); err != nil {
			return 0, err
		}
		step.Phase = phaseOff
	}
	if err := t.powerTo(ctx, step, bmc.PowerOn, bmc.RequestOn, t.Settings.PowerTimeout); err != nil {
		return 0, err
	}
	t.settled(node.UndoPowerOff)
	return over, nil
}

// prepareCleaning boots the agent, whose steps join the plan when it has
// called; fake hardware cleans without one.
func prepareCleaning(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if t.isFake("deploy") {
		return over, fakeStep(ctx, t, "clean")
	}
	o, err := bootAgent(ctx, t, step)
	if err != nil || o != over {
		return o, err
	}
	return over, t.mergeAgentSteps(ctx)
}

// tearDownCleaning leaves the server off, without media and without an agent.
func tearDownCleaning(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	return t.giveBack(ctx, step)
}

func tearDownInspection(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	return t.giveBack(ctx, step)
}

func (t *task) giveBack(ctx context.Context, step *node.Step) (outcome, error) {
	if t.node.DisablePowerOff {
		t.pending.ClearAgent = true
		return over, nil
	}
	if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
		return 0, err
	}
	t.pending.ClearAgent = true
	t.node.Agent = nil
	t.settled(node.UndoPowerOff)
	return over, t.fromDisk(ctx)
}

// tearDown takes the instance's server down. The save that ends it moves the
// node out of deleting, and clears the instance in the same transaction.
func tearDown(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if t.node.ProvisionState != node.Deleting {
		return over, nil
	}
	if o, err := t.giveBack(ctx, step); err != nil {
		return o, err
	}
	t.move(node.EventClean)
	return over, nil
}

// noNetwork: the network interface noop has nothing to switch.
func noNetwork(_ context.Context, t *task, _ *node.Step) (outcome, error) {
	if t.node.Implementation("network").Means != node.MeansNoop {
		return 0, t.node.Unsupported("network")
	}
	return over, nil
}

// undo puts right what is listed, in an order that leaves the server off before
// its media are taken. Each may run twice; what is sent is noted on step, so that
// whoever goes on after a crash looks for its effect first.
func (t *task) undo(ctx context.Context, step *node.Step, list []node.Undo) error {
	if slices.Contains(list, node.UndoPowerOff) && !t.node.DisablePowerOff {
		if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
			return err
		}
		t.settled(node.UndoPowerOff)
	}
	if !slices.Contains(list, node.UndoEjectMedia) && !slices.Contains(list, node.UndoClearBoot) {
		return nil
	}
	err := t.fromDisk(ctx)
	if err == nil || !lasts(err) || !slices.Contains(t.op.Undo, node.UndoEjectMedia) && !slices.Contains(t.node.Owed, node.UndoEjectMedia) {
		return err
	}
	if b, failed := t.boot(); failed == nil {
		b.giveUpRamdisk(ctx, t)
	}
	return err
}
