package activities

import (
	"time"

	"go.temper.dev/temper/internal/node"
)

// StepLine is a step as the workflow shows it.
type StepLine struct {
	Name      string         `json:"name"`
	State     node.StepState `json:"state"`
	Attempts  int            `json:"attempts"`
	Conductor string         `json:"conductor,omitempty"`
	LastError string         `json:"last_error,omitempty"`
	Since     *time.Time     `json:"since,omitempty"` // where it runs
}

// StepLines returns steps as the workflow shows them.
func StepLines(steps []node.Step) []StepLine {
	var out []StepLine
	for _, s := range steps {
		out = append(out, StepLine{Name: s.Name(), State: s.State, Attempts: s.Attempts, Conductor: s.Conductor, LastError: s.LastError, Since: sinceOf(s)})
	}
	return out
}

// sinceOf returns when a running step began, nil for any other.
func sinceOf(s node.Step) *time.Time {
	if s.State != node.StepRunning {
		return nil
	}
	return s.StartedAt
}
