// Package workflows decides what happens to a node, and in which order. Its code is
// deterministic. What touches hardware or the database is in the packages below activities.
package workflows

import (
	"time"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/node"
)

// OrchestratorQueue is the task queue of workflow code and of the activities
// that touch only the database.
const OrchestratorQueue = "orchestrator"

// LookSignal tells a workflow that its operation's row has changed: an agent has called, or
// somebody has requested something. The signal has no argument.
const LookSignal = "look"

// StepsSignal tells the workflow which of its steps runs; its argument is
// a conductor.StepsUpdate. It only changes what Temporal's UI shows.
const StepsSignal = "steps"

// ProgressQuery answers with Progress.
const ProgressQuery = "progress"

// Input names the operation. Its row has everything else; node and kind are here for people who
// read the workflow.
type Input struct {
	Operation int64              `json:"operation"`
	Node      string             `json:"node"`
	NodeName  string             `json:"node_name,omitempty"`
	Kind      node.OperationKind `json:"kind"`
}

// Progress is how far an operation is, for people.
type Progress struct {
	Kind       node.OperationKind    `json:"kind"`
	Node       string                `json:"node"`
	Conductor  string                `json:"conductor,omitempty"`
	WaitingFor string                `json:"waiting_for,omitempty"`
	Until      *time.Time            `json:"until,omitempty"`
	Given      *time.Time            `json:"given,omitempty"` // since when conductors have the steps; null = they do not have them
	Steps      []activities.StepLine `json:"steps,omitempty"`
	StepWait   *node.Wait            `json:"step_wait,omitempty"` // what the current step waits for, as a conductor told it last; null = not known
}

// operations and steps are nil: the SDK takes only the names of activities from them.
var (
	operations *orchestrator.Operations
	steps      *conductor.Steps
)
