package agent

import (
	"math"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Progress is how much of a command is done that runs. ironic-python-agent tells nothing of a running command but that it
// runs: its command_result is null until the command has ended (extensions/base.py, AsyncCommandResult). Agents that tell
// more send {"progress": {"fraction": 0.61, "bytes": 640000000}} as command_result meanwhile, which Ironic ignores.
type Progress struct {
	Fraction float64 `json:"fraction"`        // from 0 to 1
	Bytes    int64   `json:"bytes,omitempty"` // written or erased so far; 0 = not told
}

// RunningResult is the command_result of a command that runs.
type RunningResult struct {
	Progress *Progress `json:"progress,omitempty"`
}

// Progress returns how much of a running command is done, nil if the agent does not tell or tells nonsense.
func (r *Result) Progress() *Progress {
	if r == nil || r.Status != Running || len(r.Result) == 0 {
		return nil
	}
	var out RunningResult
	if jsonvalue.Unmarshal(r.Result, &out) != nil || out.Progress == nil {
		return nil
	}
	p := *out.Progress
	if math.IsNaN(p.Fraction) || p.Fraction < 0 || p.Fraction > 1 || p.Bytes < 0 {
		return nil
	}
	return &p
}
