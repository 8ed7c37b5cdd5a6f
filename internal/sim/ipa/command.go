package ipa

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
)

// command is a command that runs or has ended. The agent's lock guards result; done is
// closed when result is final.
type command struct {
	result agent.Result
	async  bool
	end    func() // ends the agent in the middle of the command; nil if no fault does
	names  []string
	done   chan struct{}
	// progress returns how much of it is done; nil if it can't be told. The agent's lock guards it.
	progress func() agent.Progress
}

func (c *command) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// commandSpec is an entry of an extension's command map.
type commandSpec struct {
	async bool
	run   func(ctx context.Context, a *Agent, c *command, params json.RawMessage) (any, error)
}

// extensions are the agent's commands by extension.
var extensions = map[string]map[string]commandSpec{
	"deploy":  {"get_deploy_steps": listSteps(agent.DeployFamily), "execute_deploy_step": executeStep(agent.DeployFamily)},
	"clean":   {"get_clean_steps": listSteps(agent.CleanFamily), "execute_clean_step": executeStep(agent.CleanFamily)},
	"service": {"get_service_steps": listSteps(agent.ServiceFamily), "execute_service_step": executeStep(agent.ServiceFamily)},
	"standby": {
		"sync":                {run: noop},
		"get_partition_uuids": {run: getPartitionUUIDs},
		"prepare_image":       {async: true, run: prepareImage},
		"power_off":           {async: true, run: powerOff},
		"run_image":           {async: true, run: runImage},
	},
	"image":  {"install_bootloader": {async: true, run: installBootloader}},
	"log":    {"collect_system_logs": {run: collectLogs}},
	"poll":   {"get_hardware_info": {run: hardwareInfo}, "set_node_info": {run: noop}},
	"rescue": {"finalize_rescue": {run: finalizeRescue}},
	"system": {"lockdown": {run: lockdown}},
}

// maxResults is how many commands an agent keeps.
const maxResults = 1000

// start starts a command if no other one runs. A synchronous command has ended when start
// returns. The command's own failure is in its result.
func (a *Agent) start(in agent.Command) (*command, *failure.Error) {
	extension, name, ok := strings.Cut(in.Name, ".")
	if !ok {
		return nil, failure.BadCommand("Command name must be of the form <extension>.<name>")
	}
	a.mu.Lock()
	if n := len(a.results); n > 0 && !a.results[n-1].ended() {
		running := a.results[n-1].result.Name
		a.mu.Unlock()
		return nil, failure.Busy("executing command %s", running)
	}
	ext, ok := extensions[extension]
	if !ok {
		a.mu.Unlock()
		return nil, failure.NotFound("Extension with id %s not found.", extension)
	}
	k, ok := ext[name]
	if !ok {
		a.mu.Unlock()
		return nil, failure.BadCommand("Unknown command: %s", name)
	}
	c := &command{
		async: k.async, end: a.injectedEnd(in), names: names(in), done: make(chan struct{}),
		result: agent.Result{ID: uuid.NewString(), Name: name, Params: in.Params, Status: agent.Running},
	}
	if a.results = append(a.results, c); len(a.results) > maxResults {
		a.results = a.results[1:]
	}
	a.mu.Unlock()
	a.logf("executing command %s", in.Name)

	if k.async {
		a.work.Go(func() { a.execute(k, c, in) })
		return c, nil
	}
	a.execute(k, c, in)
	return c, nil
}

// execute runs a command until it ends or the agent does.
func (a *Agent) execute(k commandSpec, c *command, in agent.Command) {
	out, err := k.run(a.ctx, a, c, in.Params)
	if a.ctx.Err() != nil {
		return // the server was switched off: nobody can read the result
	}
	if c.end != nil {
		if c.async {
			c.end()
		}
		return
	}
	a.mu.Lock()
	a.setResult(c, in.Name, out, err)
	status := c.result.Status
	close(c.done)
	a.mu.Unlock()
	a.logf("command %s completed: %s", in.Name, status)
	if a.fleet.cfg.Observe != nil {
		a.fleet.cfg.Observe(in.Name, string(status))
	}
	a.saveMemory()
	if c.async {
		a.forceHeartbeat()
	}
}

// setResult sets the result. A text becomes {"result": text}, with the command's name in
// front if it was asynchronous.
func (a *Agent) setResult(c *command, name string, out any, err error) {
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

// tellProgress lets the answers of the agent tell how much of the command is done, as long as it runs.
func (a *Agent) tellProgress(c *command, f func() agent.Progress) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.progress = f
}

// take lets the command take d, and tells how much of that is over. It returns false if the server was switched off
// meanwhile.
func (a *Agent) take(c *command, d time.Duration) bool {
	begun := time.Now()
	a.tellProgress(c, func() agent.Progress {
		return agent.Progress{Fraction: min(float64(time.Since(begun))/float64(max(d, 1)), 1)}
	})
	return a.sleep(d)
}

// shown is the command's result as the agent answers it. The caller has the agent's lock. ironic-python-agent has no result
// of a command that runs; agents that tell its progress do it as agent.Progress says.
func (a *Agent) shown(c *command) agent.Result {
	r := c.result
	if r.Status == agent.Running && c.progress != nil && !a.fleet.cfg.NoProgress {
		p := c.progress()
		r.Result, _ = json.Marshal(agent.RunningResult{Progress: &p}) // numbers encode
	}
	return r
}

func noop(context.Context, *Agent, *command, json.RawMessage) (any, error) { return nil, nil }

func collectLogs(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	return map[string]string{"system_logs": a.logs()}, nil
}

func hardwareInfo(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	return a.inventory(), nil
}

func getPartitionUUIDs(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.partitions, nil
}

// finalizeRescue sets the password of the user rescue, and stops the agent's API, because the rescued server then belongs to
// its user. chpasswd -e takes any text as a hash; with one that is none nobody could log in.
func finalizeRescue(ctx context.Context, a *Agent, c *command, params json.RawMessage) (any, error) {
	var p agent.RescueParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	if p.Password == "" || p.Hashed && !strings.HasPrefix(p.Password, "$") {
		return nil, failure.BadCommand("rescue_password is not what hashed says")
	}
	return lockdown(ctx, a, c, params)
}

// lockdown stops the agent's API and its network.
func lockdown(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	a.stopServing()
	a.setPhase(phaseLocked)
	return nil, nil
}

// powerOff waits a moment, so that the answer is sent before the server is off.
func powerOff(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	if a.sleep(a.fleet.cfg.StepDelay) {
		a.s.AgentPowersOff(a.boot)
	}
	return nil, nil
}

func runImage(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	if a.sleep(a.fleet.cfg.StepDelay) {
		a.s.AgentReboots(a.boot)
	}
	return nil, nil
}

func installBootloader(_ context.Context, a *Agent, _ *command, params json.RawMessage) (any, error) {
	var p agent.BootloaderParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	a.sleep(a.fleet.cfg.StepDelay)
	if a.s.Disk.State().Image == nil {
		return nil, failure.NoDevice("No partition with UUID %s found on device %s", p.RootUUID, a.s.Drives[0].Name)
	}
	return nil, nil
}
