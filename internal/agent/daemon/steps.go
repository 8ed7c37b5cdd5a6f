//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/agent/imagewriter"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/rootdevice"
)

// manager is the hardware manager that offers the steps. Its version is raised when steps change, so that a conductor that has listed
// older ones lists them again.
const (
	managerName    = "TemperHardwareManager"
	managerVersion = "temper_hardware_manager"
)

var managers = map[string]string{managerVersion: "1"}

// step is a step that the agent offers, and what it does.
type step struct {
	offer agent.Step
	do    runner // its parameters are the step's args
}

// offeredSteps has the steps of each family, with ironic-python-agent's names and priorities (hardware.py).
func offeredSteps(f agent.Family) []step {
	metadata := step{agent.Step{Step: "erase_devices_metadata", Interface: "deploy", Abortable: f == agent.CleanFamily}, eraseMetadata}
	switch f {
	case agent.DeployFamily:
		return []step{metadata, {agent.Step{Step: "write_image", Interface: "deploy"}, writeImage}}
	case agent.CleanFamily:
		metadata.offer.Priority = 99
		return []step{metadata, {agent.Step{Step: "erase_devices", Interface: "deploy", Priority: 10, Abortable: true}, eraseDevices}}
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
		for _, s := range offeredSteps(f) {
			if s.offer.Step != named.Step {
				continue
			}
			out, err := s.do(ctx, a, c, named.Args)
			if err != nil {
				return nil, err
			}
			return map[string]any{string(f) + "_result": out, string(f) + "_step": given["step"]}, nil
		}
		return nil, failure.NoMethod("Could not find method: %s", named.Step)
	}
}

func writeImage(ctx context.Context, a *Agent, c *command, args json.RawMessage) (any, error) {
	out, err := prepareImage(ctx, a, c, args)
	if text, ok := out.(string); ok {
		out = map[string]string{"result": "prepare_image: " + text}
	}
	return out, err
}

// eraseMetadata takes the signatures off every disk that is not in use.
func eraseMetadata(_ context.Context, a *Agent, _ *command, _ json.RawMessage) (any, error) {
	return nil, a.eachDisk(func(_ rootdevice.Disk, d *imagewriter.Target) error { return d.Wipe() })
}

// eraseDevices overwrites every disk. Its result is the evidence.
func eraseDevices(ctx context.Context, a *Agent, c *command, _ json.RawMessage) (any, error) {
	total, done := int64(0), int64(0)
	for _, d := range a.candidates() {
		total += d.Size
	}
	var erased []agent.Erasure
	err := a.eachDisk(func(disk rootdevice.Disk, d *imagewriter.Target) error {
		before, began := done, time.Now()
		err := d.Overwrite(ctx, func(n int64) {
			done = before + n
			a.tell(c, agent.Progress{Fraction: min(1, float64(done)/float64(max(1, total))), Bytes: done})
		})
		if err != nil {
			return err
		}
		erased = append(erased, agent.Erasure{
			Disk: agent.Text(disk.Name), Serial: agent.Text(disk.Facts["serial"]), Method: agent.Overwritten, Bytes: agent.Number(d.Size()),
			Seconds: agent.Number(time.Since(began).Seconds()), Samples: imagewriter.Samples,
		})
		return nil
	})
	return erased, err
}

func (a *Agent) eachDisk(do func(rootdevice.Disk, *imagewriter.Target) error) error {
	disks := a.candidates()
	if len(disks) == 0 {
		return failure.NoDevice("there is no disk to erase")
	}
	for _, d := range disks {
		t, err := imagewriter.Open(d.Name)
		if err != nil {
			return failure.Execution("%s", err)
		}
		err = do(d, t)
		if closing := t.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return failure.Execution("%s is not erased: %s", d.Name, err)
		}
	}
	return nil
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
