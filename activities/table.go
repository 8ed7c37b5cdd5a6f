package activities

import (
	"context"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// stepFunc runs one step. It looks before it acts and may run twice.
type stepFunc func(ctx context.Context, t *task, step *node.Step) (outcome, error)

// stepFuncs are the steps the conductor runs itself, by "interface.step". What
// is not here is asked of the agent.
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
		"inspect.boot_agent":       bootToInspect,
		"inspect.collect":          collectInventory,
		"inspect.tear_down":        tearDownInspection,
	}
}

// fakeStep obeys: it takes as long as the settings say.
func fakeStep(ctx context.Context, t *task, iface string) error {
	if t.Fake == nil {
		return nil
	}
	return t.Fake(ctx, iface)
}

// isFake: the step's interface is implemented by fake hardware.
func (t *task) isFake(iface string) bool { return t.node.Interfaces[iface] == "fake" }

// prepareDeploy leaves nothing of an earlier life: the server off, no media in.
func prepareDeploy(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	t.wants(node.UndoPowerOff)
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

// bootToInspect boots the agent, which reports what it finds. However the
// inspection ends, the server ends off: there is nothing on it to run.
func bootToInspect(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	t.wants(node.UndoPowerOff)
	return bootAgent(ctx, t, step)
}

// prepareCleaning boots the agent, whose steps join the plan when it has
// called; fake hardware cleans without one.
func prepareCleaning(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if t.isFake("deploy") {
		return over, fakeStep(ctx, t, "clean")
	}
	t.wants(node.UndoPowerOff)
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
	if impl := t.node.Interfaces["network"]; impl != "noop" && impl != "" {
		return 0, fault.New(fault.Invalid, "node %s: network interface %q can't switch networks", t.node.UUID, impl)
	}
	return over, nil
}

// undo puts right what is listed, in an order that leaves the server off before
// its media are taken. Each may run twice; what is sent is noted on step, so that
// whoever goes on after a crash looks for its effect first.
func (t *task) undo(ctx context.Context, step *node.Step, list []node.Undo) error {
	if contains(list, node.UndoPowerOff) && !t.node.DisablePowerOff {
		if err := t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout); err != nil {
			return err
		}
		t.settled(node.UndoPowerOff)
	}
	if !contains(list, node.UndoEjectMedia) && !contains(list, node.UndoClearBoot) {
		return nil
	}
	return t.fromDisk(ctx)
}
