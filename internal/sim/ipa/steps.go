package ipa

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
)

// action runs a step.
type action func(ctx context.Context, a *Agent, c *command, p stepParams) (any, error)

// step is a step of the generic hardware manager, and what it does in the simulation.
type step struct {
	offer agent.Step
	do    action
}

// offeredSteps has the steps of each family (hardware.py, get_clean_steps and
// get_deploy_steps), with the real agent's priorities.
var offeredSteps = map[agent.Family][]step{
	agent.CleanFamily: {
		{agent.Step{Step: "erase_devices", Interface: "deploy", Priority: 10, Abortable: true}, eraseDevices},
		{agent.Step{Step: "erase_devices_metadata", Interface: "deploy", Priority: 99, Abortable: true}, eraseMetadata},
		{agent.Step{Step: "erase_devices_express", Interface: "deploy", Abortable: true}, eraseMetadata},
		{agent.Step{Step: "erase_pstore", Interface: "deploy", Abortable: true}, noopStep},
		{agent.Step{Step: "burnin_cpu", Interface: "deploy", Abortable: true}, burnIn},
		{agent.Step{Step: "delete_configuration", Interface: "raid", Abortable: true}, noopStep},
		{agent.Step{Step: "create_configuration", Interface: "raid", Abortable: true}, createRAID},
	},
	agent.DeployFamily: {
		{agent.Step{Step: "erase_devices_metadata", Interface: "deploy"}, eraseMetadata},
		{agent.Step{Step: "write_image", Interface: "deploy"}, writeImage},
		{agent.Step{Step: "apply_configuration", Interface: "raid"}, noopStep},
	},
	agent.ServiceFamily: {
		{agent.Step{Step: "inject_files", Interface: "deploy"}, noopStep},
		{agent.Step{Step: "burnin_cpu", Interface: "deploy", Abortable: true}, burnIn},
	},
}

// stepParams are the parameters of execute_*_step. The step is kept as it was sent, because
// the result contains it.
type stepParams struct {
	Step json.RawMessage `json:"step"`
	Node struct {
		UUID       string         `json:"uuid"`
		DriverInfo map[string]any `json:"driver_info"`
		TargetRAID map[string]any `json:"target_raid_config"`
	} `json:"node"`
	DeployVersion  map[string]string `json:"deploy_version"`
	CleanVersion   map[string]string `json:"clean_version"`
	ServiceVersion map[string]string `json:"service_version"`
}

func (p stepParams) version(f agent.Family) map[string]string {
	return map[agent.Family]map[string]string{
		agent.DeployFamily: p.DeployVersion, agent.CleanFamily: p.CleanVersion, agent.ServiceFamily: p.ServiceVersion,
	}[f]
}

func listSteps(f agent.Family) commandSpec {
	return commandSpec{run: func(context.Context, *Agent, *command, json.RawMessage) (any, error) {
		var steps []agent.Step
		for _, s := range offeredSteps[f] {
			steps = append(steps, s.offer)
		}
		return map[string]any{
			string(f) + "_steps": map[string]any{managerName: steps}, "hardware_manager_version": managers,
		}, nil
	}}
}

func executeStep(f agent.Family) commandSpec {
	return commandSpec{async: true, run: func(ctx context.Context, a *Agent, c *command, params json.RawMessage) (any, error) {
		var p stepParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		if v := p.version(f); v != nil && !maps.Equal(v, managers) {
			return nil, failure.OtherVersion("Current versions: %s, versions used by ironic: %s", dict(managers), dict(v))
		}
		var named struct {
			Step string `json:"step"`
		}
		if json.Unmarshal(p.Step, &named) != nil || named.Step == "" {
			return nil, failure.Execution("Malformed %s_step, no \"step\" key: %s", f, p.Step)
		}
		for _, s := range offeredSteps[f] {
			if s.offer.Step != named.Step {
				continue
			}
			out, err := s.do(ctx, a, c, p)
			if err != nil {
				return nil, err
			}
			return map[string]any{string(f) + "_result": out, string(f) + "_step": p.Step}, nil
		}
		return nil, failure.NoMethod("Could not find method: %s", named.Step)
	}}
}

// dict formats a map as Python prints it.
func dict(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("'%s': '%s'", k, m[k]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func noopStep(_ context.Context, a *Agent, _ *command, _ stepParams) (any, error) {
	a.sleep(a.fleet.cfg.StepDelay)
	return nil, nil
}

func eraseMetadata(_ context.Context, a *Agent, _ *command, _ stepParams) (any, error) {
	a.sleep(a.fleet.cfg.StepDelay)
	return nil, a.s.Disk.EraseMetadata()
}

func eraseDevices(_ context.Context, a *Agent, c *command, _ stepParams) (any, error) {
	a.take(c, a.fleet.cfg.StepDelay)
	return nil, a.s.Disk.Erase()
}

// burnIn takes as long as the node's driver_info says, without TimeScale. Tests use it when
// they need a step that still runs.
func burnIn(_ context.Context, a *Agent, c *command, p stepParams) (any, error) {
	d := 24 * time.Hour
	if s, ok := p.Node.DriverInfo["agent_burnin_cpu_timeout"].(float64); ok {
		d = time.Duration(s * float64(time.Second))
	}
	a.take(c, d)
	return nil, nil
}

// createRAID returns the configuration that was asked for, as the real agent does. The simulation has no arrays.
func createRAID(_ context.Context, a *Agent, _ *command, p stepParams) (any, error) {
	a.sleep(a.fleet.cfg.StepDelay)
	return p.Node.TargetRAID, nil
}
