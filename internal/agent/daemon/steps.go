//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/jsonvalue"
)

// manager is the hardware manager that offers the steps. Its version is raised when steps change, so that a conductor that has listed
// older ones lists them again.
const (
	managerName    = "TemperHardwareManager"
	managerVersion = "temper_hardware_manager"
)

var managers = map[string]string{managerVersion: "3"}

// step is a step that the agent offers, and what it does.
type step struct {
	offer agent.Step
	do    doing
}

// doing carries out a step. What it returns is the step's result.
type doing func(ctx context.Context, a *Agent, c *command, in stepInput) (any, error)

// stepInput is what a conductor gives a step.
type stepInput struct {
	Args     json.RawMessage
	Internal map[string]any // driver_internal_info of the node, in which Ironic's conductors put settings of the agent
	Target   map[string]any // its target_raid_config
	Have     struct {       // its raid_config
		Disks []any `json:"logical_disks"`
	}
}

// offeredSteps has the steps of each family, with ironic-python-agent's names and priorities (hardware.py).
func offeredSteps(f agent.Family) []step {
	metadata := step{agent.Step{Step: "erase_devices_metadata", Interface: "deploy", Abortable: f == agent.CleanFamily}, keepingRAID(eraseMetadata)}
	switch f {
	case agent.DeployFamily:
		return []step{
			metadata,
			{agent.Step{Step: "write_image", Interface: "deploy"}, writeImage},
			{agent.Step{Step: "apply_configuration", Interface: "raid", ArgsInfo: map[string]any{
				"raid_config":     map[string]any{"description": "The RAID configuration to apply.", "required": true},
				"delete_existing": map[string]any{"description": "Whether to delete the configuration that is there. Default: false.", "required": false},
			}}, applyRAID},
			{agent.Step{Step: "delete_configuration", Interface: "raid"}, deleteRAID},
		}
	case agent.CleanFamily:
		metadata.offer.Priority = 99
		return []step{
			metadata,
			{agent.Step{Step: "erase_devices", Interface: "deploy", Priority: 10, Abortable: true}, keepingRAID(eraseDevices)},
			{agent.Step{Step: "erase_devices_express", Interface: "deploy", Abortable: true}, keepingRAID(eraseExpress)},
			{agent.Step{Step: "delete_configuration", Interface: "raid", Abortable: true}, deleteRAID},
			{agent.Step{Step: "create_configuration", Interface: "raid", Abortable: true}, createRAID},
		}
	}
	return nil
}

func listSteps(f agent.Family) runner {
	return func(context.Context, *Agent, *command, json.RawMessage) (any, error) {
		steps := []agent.Step{}
		for _, s := range offeredSteps(f) {
			steps = append(steps, s.offer)
		}
		return map[string]any{string(f) + "_steps": map[string]any{managerName: steps}, "hardware_manager_version": managers}, nil
	}
}

func executeStep(f agent.Family) runner {
	return func(ctx context.Context, a *Agent, c *command, params json.RawMessage) (any, error) {
		var given map[string]json.RawMessage
		var named struct {
			Step string          `json:"step"`
			Args json.RawMessage `json:"args"`
		}
		if jsonvalue.Unmarshal(params, &given) != nil || jsonvalue.Unmarshal(given["step"], &named) != nil || named.Step == "" {
			return nil, failure.Execution("Malformed %s_step, no \"step\" key", f)
		}
		var version map[string]any
		if jsonvalue.Unmarshal(given[string(f)+"_version"], &version) == nil && version != nil && version[managerVersion] != managers[managerVersion] {
			return nil, failure.OtherVersion("this agent has the version %s of its steps", managers[managerVersion])
		}
		var node struct {
			Internal map[string]any `json:"driver_internal_info"`
			Target   map[string]any `json:"target_raid_config"`
			RAID     struct {
				Disks []any `json:"logical_disks"`
			} `json:"raid_config"`
		}
		_ = jsonvalue.Unmarshal(given["node"], &node) // without it the settings have their defaults
		for _, s := range offeredSteps(f) {
			if s.offer.Step != named.Step {
				continue
			}
			out, err := s.do(ctx, a, c, stepInput{named.Args, node.Internal, node.Target, node.RAID})
			if err != nil {
				return nil, err
			}
			return map[string]any{string(f) + "_result": out, string(f) + "_step": given["step"]}, nil
		}
		return nil, failure.NoMethod("Could not find method: %s", named.Step)
	}
}

func writeImage(ctx context.Context, a *Agent, c *command, in stepInput) (any, error) {
	out, err := prepareImage(ctx, a, c, in.Args)
	if text, ok := out.(string); ok {
		out = map[string]string{"result": "prepare_image: " + text}
	}
	return out, err
}

// answerTime is how long the agent goes on after a command that ends it, so that the answer is read.
const answerTime = time.Second

// end ends the machine's work: the kernel has written everything before.
func end(with Ending) runner {
	return func(ctx context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
		a.mu.Lock()
		a.locked = true // nothing else begins
		a.mu.Unlock()
		go func() {
			select {
			case <-ctx.Done():
			case <-time.After(answerTime):
			}
			a.End(with)
		}()
		return nil, nil
	}
}
