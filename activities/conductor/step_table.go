package conductor

import (
	"context"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// stepFunc runs one step. It reads the state of the hardware before it changes it, and may run twice.
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

		"management.undo": undoOwed,

		"deploy.prepare":                  prepareDeploy,
		"deploy.deploy":                   bootToDeploy,
		"deploy.write_image":              writeImage,
		"deploy.prepare_instance_boot":    prepareInstanceBoot,
		"deploy.tear_down_agent":          tearDownAgent,
		"deploy.switch_to_tenant_network": switchNetwork,
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
		node.StepWait:     wait,
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
	return done, fakeStep(ctx, t, step.Interface)
}
