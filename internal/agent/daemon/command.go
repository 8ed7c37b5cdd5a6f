//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
)

// maxResults is how many commands an agent keeps.
const maxResults = 1000

// command is a command that runs or has ended. The agent's lock guards result and progress; done is closed when result is final.
type command struct {
	result   agent.Result
	async    bool
	done     chan struct{}
	progress *agent.Progress
}

// shown is the result as it is answered: a running command tells its progress.
func (c *command) shown() agent.Result {
	r := c.result
	if r.Status == agent.Running && c.progress != nil {
		r.Result, _ = json.Marshal(agent.RunningResult{Progress: c.progress}) // numbers encode
	}
	return r
}

// runner carries out a command. What it returns is the command's result.
type runner func(ctx context.Context, a *Agent, c *command, params json.RawMessage) (any, error)

// extensions are the commands; an asynchronous one runs on after its answer.
var extensions map[string]struct {
	async bool
	run   runner
}

func init() { //nolint:gochecknoinits // the commands refer to the table's users
	type entry = struct {
		async bool
		run   runner
	}
	extensions = map[string]entry{
		"deploy.get_deploy_steps": {false, listSteps(agent.DeployFamily)}, "deploy.execute_deploy_step": {true, executeStep(agent.DeployFamily)},
		"clean.get_clean_steps": {false, listSteps(agent.CleanFamily)}, "clean.execute_clean_step": {true, executeStep(agent.CleanFamily)},
		"service.get_service_steps": {false, listSteps(agent.ServiceFamily)}, "service.execute_service_step": {true, executeStep(agent.ServiceFamily)},
		"standby.sync": {false, nothing}, "standby.get_partition_uuids": {false, partitionUUIDs}, "standby.prepare_image": {true, prepareImage},
		"standby.power_off": {true, end(PowerOff)}, "standby.run_image": {true, end(Reboot)},
		"image.install_bootloader": {true, installBootloader}, "log.collect_system_logs": {false, collectLogs}, "rescue.finalize_rescue": {false, finalizeRescue},
		"poll.get_hardware_info": {false, hardwareInfo}, "poll.set_node_info": {false, nothing}, "system.lockdown": {false, lockdown},
	}
}

// start starts a command if no other one runs. A synchronous command has ended when start returns; its own failure is in its result.
func (a *Agent) start(ctx context.Context, in agent.Command) (*command, *failure.Error) {
	extension, name, ok := strings.Cut(in.Name, ".")
	if !ok {
		return nil, failure.BadCommand("Command name must be of the form <extension>.<name>")
	}
	a.mu.Lock()
	for _, c := range a.results {
		if c.result.Status == agent.Running {
			defer a.mu.Unlock()
			return nil, failure.Busy("executing command %s", c.result.Name)
		}
	}
	spec, ok := extensions[in.Name]
	if !ok {
		a.mu.Unlock()
		return nil, failure.BadCommand("Unknown command: %s of the extension %s", name, extension)
	}
	c := &command{
		async: spec.async, done: make(chan struct{}),
		result: agent.Result{ID: uuid.NewString(), Name: name, Params: in.Params, Status: agent.Running},
	}
	if a.results = append(a.results, c); len(a.results) > maxResults {
		a.results = a.results[1:]
	}
	a.mu.Unlock()
	a.Log.Info("command", zap.String("name", in.Name))
	if spec.async {
		a.work.Go(func() { a.execute(ctx, spec.run, c, in) })
		return c, nil
	}
	a.execute(ctx, spec.run, c, in)
	return c, nil
}

func (a *Agent) execute(ctx context.Context, run runner, c *command, in agent.Command) {
	out, err := run(ctx, a, c, in.Params)
	a.mu.Lock()
	c.finish(in.Name, out, err)
	status := c.result.Status
	close(c.done)
	a.mu.Unlock()
	a.Log.Info("command ended", zap.String("name", in.Name), zap.String("status", string(status)), zap.Error(err))
	if c.async {
		a.forceHeartbeat()
	}
}

// finish sets the result. A text becomes {"result": text}, with the command's name in front if it was asynchronous.
func (c *command) finish(name string, out any, err error) {
	if err != nil {
		e := failure.As(err)
		c.result.Status, c.result.Error = agent.Failed, e.CommandError()
		if e.Class == "VersionMismatch" {
			c.result.Status = agent.CleanVersionMismatch
		}
		if !c.async {
			c.result.Name = name // a failed synchronous command keeps its full name
		}
		return
	}
	if text, ok := out.(string); ok {
		if c.async {
			text = c.result.Name + ": " + text
		}
		out = map[string]string{"result": text}
	}
	c.result.Status = agent.Succeeded
	c.result.Result, _ = json.Marshal(out) // plain values encode
}

// tell sets how much of a running command is done.
func (a *Agent) tell(c *command, p agent.Progress) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.progress = &p
}

func (a *Agent) list() []agent.Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]agent.Result, len(a.results))
	for i, c := range a.results {
		out[i] = c.shown()
	}
	return out
}

func nothing(context.Context, *Agent, *command, json.RawMessage) (any, error) { return nil, nil }

func collectLogs(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	return map[string]string{"system_logs": a.journal.archive()}, nil
}

func hardwareInfo(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	return a.inventory(), nil
}

func partitionUUIDs(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.image, nil
}

// lockdown ends the agent's work for this boot.
func lockdown(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.locked = true
	return nil, nil
}
