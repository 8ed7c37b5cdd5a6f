// Package workflows says what happens to a node, and in which order. It decides
// and waits, deterministically; it never does. Doing is package activities.
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

// LookSignal tells a workflow that its operation's row has news: an agent has
// called, or somebody asks for something. It carries nothing; the row does.
const LookSignal = "look"

// StepsSignal tells the workflow which of its steps runs; its argument is
// activities.Told. It only changes what Temporal's UI shows.
const StepsSignal = "steps"

// ProgressQuery answers with Progress.
const ProgressQuery = "progress"

// Input names the operation. What it is about is in its row; the names are here
// for people who read the workflow.
type Input struct {
	Operation int64     `json:"operation"`
	Node      string    `json:"node"`
	NodeName  string    `json:"node_name,omitempty"`
	Kind      node.Kind `json:"kind"`
}

// Progress is how far an operation is, for people.
type Progress struct {
	Kind       node.Kind             `json:"kind"`
	Node       string                `json:"node"`
	Conductor  string                `json:"conductor,omitempty"`
	WaitingFor string                `json:"waiting_for,omitempty"`
	Until      *time.Time            `json:"until,omitempty"`
	Given      *time.Time            `json:"given,omitempty"` // when the steps were given to the conductors, while they have them
	Steps      []activities.StepLine `json:"steps,omitempty"`
}

// operations and steps lend the workflows their activities' names; the workers
// register the real ones.
var (
	operations *orchestrator.Operations
	steps      *conductor.Steps
)
