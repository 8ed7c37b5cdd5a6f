package conductor

import (
	"context"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// stepFunc runs one step. It reads the state of the hardware before it changes it, and may run twice.
type stepFunc func(ctx context.Context, t *task, step *node.Step) (outcome, error)

// stepFuncs and fakeFuncs have the functions of the rows of the table of steps
// (node.StepRules), by the row's name. fakeFuncs are for interfaces that fake hardware
// implements; a step that it lacks runs as on any other hardware. A step that stepFuncs lacks
// is offered by fake hardware only. agentFuncs are for interfaces that the ramdisk agent implements. Steps that an
// agent offers by itself have no function: the agent runs them.
var stepFuncs, fakeFuncs, agentFuncs map[string]stepFunc

func init() {
	stepFuncs = map[string]stepFunc{
		"power.verify":   verifyPower,
		"power.on":       powerOn,
		"power.off":      powerOff,
		"power.soft_off": powerSoftOff,
		"power.reset":    powerReset,

		"management.set_boot_device": setBootDevice,
		"management.inject_nmi":      injectNMI,
		"management.undo":            undoOwed,
		"management.set_bmc_clock":   setBMCClock,

		"management.set_boot_mode":         setBootMode,
		"management.set_secure_boot_state": setSecureBoot,
		"management.set_indicator_state":   setIndicator,
		"management.attach_virtual_media":  attachMedia,
		"management.detach_virtual_media":  detachMedia,

		"management.make_bmc_password":   makeBMCPassword,
		"management.try_bmc_password":    tryBMCPassword,
		"management.change_bmc_password": changeBMCPassword,
		"management.record_bmc_password": recordBMCPassword,

		"vendor.send_raw":            sendRaw,
		"vendor.bmc_reset":           resetBMC,
		"vendor.eject_vmedia":        ejectMedia,
		"vendor.create_subscription": createSubscription,
		"vendor.delete_subscription": deleteSubscription,

		"deploy.prepare":                  prepareDeploy,
		"deploy.deploy":                   bootForSteps,
		"deploy.write_image":              writeImage,
		"deploy.prepare_instance_boot":    prepareInstanceBoot,
		"deploy.tear_down_agent":          tearDownAgent,
		"deploy.switch_to_tenant_network": switchNetwork,
		"deploy.boot_instance":            bootInstance,

		"deploy.prepare_cleaning":   bootForSteps,
		"deploy.tear_down_cleaning": leaveOff,
		"deploy.tear_down":          tearDown,

		"deploy.prepare_service":   bootForSteps,
		"deploy.tear_down_service": bootInstance,

		"inspect.inspect_hardware": inspectHardware,
		"inspect.boot_agent":       bootAgent,
		"inspect.collect":          collectInventory,
		"inspect.tear_down":        leaveOff,

		"rescue.boot_agent":      bootAgent,
		"rescue.finalize_rescue": finalizeRescue,
		"rescue.unrescue":        bootInstance,

		"bios.apply_configuration":  applyBIOS,
		"bios.factory_reset":        resetBIOS,
		"raid.create_configuration": createRAID,
		"raid.apply_configuration":  applyRAID,
		"raid.delete_configuration": deleteRAID,
		"firmware.update":           updateFirmware,

		node.StepHold:     hold,
		node.StepWait:     wait,
		node.StepPowerOn:  powerOn,
		node.StepPowerOff: powerOff,
		node.StepReboot:   reboot,
	}
	fakeFuncs = map[string]stepFunc{
		"deploy.deploy":            fakeStep,
		"deploy.prepare_cleaning":  fakeCleaning,
		"inspect.inspect_hardware": fakeStep,
		"rescue.rescue":            fakeStep,
		"rescue.unrescue":          fakeStep,

		"management.set_boot_mode":         fakeMode,
		"management.set_secure_boot_state": fakeMode,
		"management.attach_virtual_media":  fakeStep,
		"management.detach_virtual_media":  fakeStep,

		"management.make_bmc_password":   fakeStep,
		"management.try_bmc_password":    fakeStep,
		"management.change_bmc_password": fakeStep,
		"management.record_bmc_password": fakeStep,

		"deploy.erase_devices":          fakeStep,
		"deploy.erase_devices_metadata": fakeStep,
		"deploy.erase_devices_express":  fakeStep,
		"bios.apply_configuration":      fakeStep,
		"bios.factory_reset":            fakeStep,
		"firmware.update":               fakeStep,
		"raid.apply_configuration":      fakeStep,
		"raid.create_configuration":     fakeStep,
		"raid.delete_configuration":     fakeStep,
	}
	agentFuncs = map[string]stepFunc{
		"raid.apply_configuration":  applyRAIDInBand,
		"raid.create_configuration": createRAIDInBand,
		"raid.delete_configuration": deleteRAIDInBand,
	}
}

// funcOf returns how a step is run on n: a step of the agent by the agent, any other by the
// function of its row of the table.
func funcOf(n *node.Node, step *node.Step) stepFunc {
	fake, name := isFake(n, step), step.Rule().Name()
	switch {
	case step.Source == node.SourceAgent && !node.IsReserved(step.Step):
		if fake {
			return fakeStep
		}
		return runAgentStep
	case fake && fakeFuncs[name] != nil:
		return fakeFuncs[name]
	case agentFuncs[name] != nil && n.Implementation(step.Interface).Means == node.MeansAgent:
		return agentFuncs[name]
	case stepFuncs[name] != nil:
		return stepFuncs[name]
	}
	return unknownStep
}

// undoOf returns what has to be undone if the operation ends after the step has begun on n.
// Fake hardware leaves nothing to undo.
func undoOf(n *node.Node, step *node.Step) []node.Undo {
	if isFake(n, step) {
		return nil
	}
	return step.Rule().Undo
}

// isFake reports whether fake hardware implements the interface of the step.
func isFake(n *node.Node, step *node.Step) bool {
	return n.Implementation(step.Interface).Means == node.MeansFake
}

// unknownStep fails a step that another version of the program has planned.
func unknownStep(_ context.Context, t *task, step *node.Step) (outcome, error) {
	return 0, fault.New(fault.Invalid, "node %s: conductor %s has no step %s: use one version of temper for all roles", t.node.UUID, t.Settings.Conductor, step.Name())
}
