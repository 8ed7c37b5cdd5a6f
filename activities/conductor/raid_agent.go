package conductor

import (
	"context"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The steps of software RAID, by the names that the agent has for them.
const (
	raidCreate = "create_configuration"
	raidDelete = "delete_configuration"
	raidApply  = "apply_configuration"
)

// createRAIDInBand has the agent make the software RAID of the node's target_raid_config.
func createRAIDInBand(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if len(t.node.TargetRAIDConfig) == 0 {
		return 0, fault.New(fault.Invalid, "Node %s has no target RAID configuration: set target_raid_config", t.node.UUID)
	}
	return t.arrangeInBand(ctx, step, raidCreate, t.node.TargetRAIDConfig)
}

// applyRAIDInBand has it make that of the argument raid_config.
func applyRAIDInBand(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	config, ok := step.Args[node.ArgRAIDConfig].(map[string]any)
	if !ok {
		return 0, fault.New(fault.Invalid, "%s of the step raid.apply_configuration is not an object", node.ArgRAIDConfig)
	}
	return t.arrangeInBand(ctx, step, raidApply, config)
}

// deleteRAIDInBand has the agent delete its software RAID.
func deleteRAIDInBand(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	_, o, err := t.askForRAID(ctx, step, raidDelete, nil)
	if err != nil || o != done {
		return o, err
	}
	return done, t.saveRAIDConfig(ctx, []any{})
}

// arrangeInBand has the agent make software RAID, after it has deleted what is there if the step says so.
func (t *task) arrangeInBand(ctx context.Context, step *node.Step, command string, config map[string]any) (outcome, error) {
	config = askedDisks(step, config)
	if _, err := node.SoftwareDisks(config); err != nil {
		return 0, err
	}
	if flagArg(step, node.ArgDeleteExisting, false) && step.Volumes == nil {
		if _, o, err := t.askForRAID(ctx, step, raidDelete, nil); err != nil || o != done {
			return o, err
		}
		step.Volumes, step.Issued = &node.VolumeWork{Deleted: true}, nil
		if err := t.save(ctx); err != nil {
			return 0, err
		}
	}
	disks, o, err := t.askForRAID(ctx, step, command, config)
	if err != nil || o != done {
		return o, err
	}
	return done, t.saveRAIDConfig(ctx, disks)
}

// askedDisks leaves of a configuration what the step is to make (Ironic common/raid.py, filter_target_raid_config).
func askedDisks(step *node.Step, config map[string]any) map[string]any {
	all, _ := config["logical_disks"].([]any)
	asked := []any{}
	for i, v := range all {
		name := node.ArgCreateNonroot
		if i == 0 { // SoftwareDisks refuses another one as the root volume
			name = node.ArgCreateRoot
		}
		if flagArg(step, name, true) {
			asked = append(asked, v)
		}
	}
	return map[string]any{"logical_disks": asked}
}

// askForRAID has the agent run a step of software RAID, with the configuration where agents look for it: as the target of the node
// (create_configuration) and as an argument (apply_configuration). It returns the logical disks that there are then.
func (t *task) askForRAID(ctx context.Context, step *node.Step, command string, config map[string]any) ([]any, outcome, error) {
	f := t.agentFamily()
	run, err := t.runStepParams(ctx, step, f)
	if err != nil {
		return nil, 0, err
	}
	run.Step.Step, run.Step.Args = command, nil
	if config != nil {
		run.Node["target_raid_config"] = config
	}
	if command == raidApply {
		run.Step.Args = map[string]any{node.ArgRAIDConfig: config, node.ArgDeleteExisting: false}
	}
	res, reached, err := t.runCommand(ctx, step, agent.Order{Command: f.Execute(), Interface: step.Interface, Step: command}, run)
	switch {
	case err != nil:
		return nil, 0, refusedAs(fault.RAIDRefused, err)
	case !reached:
		return nil, endAsked, nil
	}
	if disks := res.LogicalDisks(); disks != nil {
		return disks, done, nil
	}
	disks, _ := config["logical_disks"].([]any) // an agent that does not say what it has made
	return disks, done, nil
}
