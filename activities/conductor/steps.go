package conductor

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
)

// Steps are the activities that touch hardware. They run on conductors.
type Steps struct {
	Store    OperationStore
	Drivers  map[string]bmc.Driver // by hardware type
	Settings Settings
	Log      *zap.Logger
	Observe  Observer
	// OpenAgent opens the conversation with a node's ramdisk agent.
	OpenAgent func(t agent.Target, s agent.Settings) (Agent, error)
	// Image makes of instance_info what the agent has to fetch; a checksum that
	// is given as a URL is fetched, so that the agent gets a digest.
	Image func(ctx context.Context, nodeUUID string, instance, driver map[string]any) (agent.ImageInfo, error)
	// Tell tells the calling workflow which of its steps runs; nil = it is not told.
	ReportSteps func(ctx context.Context, workflowID, runID string, told StepsUpdate) error
	// Fake delays a step of a fake interface as the settings say.
	Fake func(ctx context.Context, iface string) error
}

// Observer is told what happened, for the metrics. Fields may be nil.
type Observer struct {
	Step func(interfaceName, step, outcome string, d time.Duration)
	// Wait is how long steps stood in the queue of a group's driver.
	Wait func(group, driver string, d time.Duration)
	// Lost is told of each write or look that was refused because another claim is
	// newer: "claim", "guard", "save" (Counted).
	Lost func(what string)
	// LeftOut is called with the number of MACs that an inspection found and that got no port.
	LeftOut func(n int)
}

// StepsInput names the operation; what to do is in its row.
type StepsInput struct {
	Operation int64  `json:"operation"`
	Node      string `json:"node"`
	Seq       int64  `json:"seq"` // raised by the workflow with every activity it schedules
	// Tried are the conductors that got no answer from the hardware in this round.
	Tried []string `json:"tried,omitempty"`
}

// Next says what the workflow is to do after the steps that could be run.
type Next string

// What comes next.
const (
	NextClose Next = "close" // every step is done
	NextAgent Next = "agent" // wait for the agent to call
	NextHold  Next = "hold"  // wait for a person
	NextAsked Next = "asked" // cancel, abort or delete was asked for: undo
	// NextElsewhere: this conductor got no answer from the hardware, and another
	// one that covers the node has not tried yet.
	NextElsewhere Next = "elsewhere"
	// NextReady: nothing may be done before somebody can go on (Operations.Ready).
	NextReady Next = "ready"
	// NextOrphaned: paused in the middle of a step whose conductor died.
	NextOrphaned Next = "orphaned"
	// NextFailed: the step that is next has failed for good before, and nobody has
	// decided about it.
	NextFailed Next = "failed"
)

// StepsResult tells the workflow how far the operation is. Steps are for people.
type StepsResult struct {
	Next      Next       `json:"next"`
	Until     *time.Time `json:"until,omitempty"` // NextAgent: when to give up
	Conductor string     `json:"conductor"`
	Error     string     `json:"error,omitempty"` // NextFailed
	// Hold means, with NextFailed, that the operation holds for a decision whatever
	// its on_failure is, because conductors died of the step.
	Hold  bool                  `json:"hold,omitempty"`
	Steps []activities.StepLine `json:"steps"`
}

// StepsUpdate is what a workflow is told of its steps while one of them runs, for people.
type StepsUpdate struct {
	Seq       int64                 `json:"seq"` // of the activity that runs them
	Conductor string                `json:"conductor"`
	Steps     []activities.StepLine `json:"steps"`
}
