package agent

import (
	"context"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// ListSteps returns the steps that the agent offers for a node in the family f.
func (c *Client) ListSteps(ctx context.Context, f Family, about ListSteps) (StepLists, error) {
	var out StepLists
	r, err := c.Call(ctx, f.List(), about)
	if err != nil {
		return out, err
	}
	if n := len(r.Result); n > maxOffer {
		return out, failed(fault.Refused, "%s on the agent: the result has %d bytes, more than %d", f.List(), n, maxOffer)
	}
	if err := c.decode(f.List(), r, &out); err != nil {
		return out, err
	}
	n := 0
	for _, steps := range out.Of(f) {
		n += len(steps)
	}
	if n > maxSteps {
		return out, failed(fault.Refused, "the agent offers %d %s steps, more than %d", n, f, maxSteps)
	}
	return out, nil
}

// GetPartitionUUIDs returns the partitions that write_image left on the disk. They are empty
// for a whole-disk image.
func (c *Client) GetPartitionUUIDs(ctx context.Context) (PartitionUUIDs, error) {
	var out PartitionUUIDs
	r, err := c.Call(ctx, GetPartitionUUIDs, nil)
	if err == nil {
		err = c.decode(GetPartitionUUIDs, r, &out)
	}
	return out, err
}

// Disks returns the inventory of the server as the agent finds it now, of which only "disks" is read.
func (c *Client) Disks(ctx context.Context) (inventory map[string]any, err error) {
	var found struct {
		Disks []any `json:"disks"`
	}
	r, err := c.Call(ctx, GetHardwareInfo, nil)
	if err == nil {
		err = c.decode(GetHardwareInfo, r, &found)
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"disks": found.Disks}, nil
}

// decode decodes the result of a command. If the command still runs, although the request
// asked the agent to wait, it returns fault.Busy.
func (c *Client) decode(name string, r Result, into any) error {
	if r.Status == Running {
		return failed(fault.Busy, "%s on the agent still runs", name)
	}
	if err := r.Decode(into); err != nil {
		return failed(fault.Refused, "%s on the agent: the result can't be read: %s", name, c.oneLine(err.Error()))
	}
	return nil
}

// Decode decodes the result into a value. If there is no result (null), it does nothing.
func (r Result) Decode(into any) error {
	if len(r.Result) == 0 {
		return nil
	}
	return jsonvalue.Unmarshal(r.Result, into)
}
