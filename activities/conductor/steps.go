package conductor

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Steps are the activities that touch hardware. They run on conductors.
type Steps struct {
	Store    OperationStore
	Drivers  map[string]bmc.Driver // by hardware type
	Settings Settings
	Log      *zap.Logger
	Observe  Observer
	Reach    *Reach // which BMCs answer this conductor; nil = nobody notes it
	// OpenAgent returns a client of a node's ramdisk agent.
	OpenAgent func(t agent.Target, s agent.Settings) (Agent, error)
	// AskMedium asks the API whether a BMC could read the medium at a URL. The error is ErrMediumNotReached if it is not reached,
	// fault.Unavailable if it still makes the medium. nil = nobody can ask.
	AskMedium func(ctx context.Context, url string) error
	// Image returns the image that instance_info describes, and how many bytes it needs on a disk (0 = not known). If
	// instance_info gives the checksum as a URL, Image fetches that, so that the agent gets a digest. The error is fault.Unavailable
	// while Temper fetches an image that it is to serve to the agent.
	Image func(ctx context.Context, r ImageRequest) (info agent.ImageInfo, size int64, err error)
	// FetchFirmware fetches an image of firmware for a BMC that does not fetch it itself, and compares it with the checksum, if there is
	// one. nil = nobody can.
	FetchFirmware func(ctx context.Context, url, checksum string) (bmc.FirmwareFile, error)
	// ReportSteps tells the workflow which of its steps runs. It may be nil.
	ReportSteps func(ctx context.Context, workflowID, runID string, told StepsUpdate) error
	// Recordings keep what servers print while they boot; nil = nobody does.
	Recordings *Recordings
	// Fake waits for as long as a step of the fake interface iface takes.
	Fake func(ctx context.Context, iface string) error
}

// Observer has the functions that count for the metrics. Each may be nil.
type Observer struct {
	Step func(interfaceName, step, outcome string, d time.Duration)
	// Wait is called with how long steps were in the queue of a group's driver.
	Wait func(group, driver string, d time.Duration)
	// Lost is called with "claim", "guard" or "save" for each call that was refused because
	// another claim is newer (CountLostClaims).
	Lost func(what string)
	// LeftOut is called with the number of MACs that an inspection found and that got no port.
	LeftOut func(n int)
}

// StepsInput names the operation; what to do is in its row.
type StepsInput struct {
	Operation int64  `json:"operation"`
	Node      string `json:"node"`
	Seq       int64  `json:"seq"` // raised by the workflow with every activity it schedules
	// Tried are the conductors that the hardware did not answer in this round.
	Tried []string `json:"tried,omitempty"`
}

// Next says what the workflow is to do after RunSteps.
type Next string

// The values of Next.
const (
	NextClose Next = "close" // every step is done
	NextAgent Next = "agent" // wait for the agent to call
	NextHold  Next = "hold"  // wait for a person
	NextAsked Next = "asked" // cancel, abort or delete was asked for: undo
	// NextElsewhere: the hardware did not answer this conductor, and another one that covers
	// the node has not tried yet.
	NextElsewhere Next = "elsewhere"
	// NextReady: no step may run before a conductor can continue (orchestrator.Operations.Ready).
	NextReady Next = "ready"
	// NextOrphaned: the node is in maintenance, in the middle of a step whose conductor died.
	NextOrphaned Next = "orphaned"
	// NextFailed: the current step has failed for good before, and nobody has decided what
	// becomes of it.
	NextFailed Next = "failed"
)

// StepsResult tells the workflow how far the operation is. Steps are shown to people.
type StepsResult struct {
	Next      Next       `json:"next"`
	Until     *time.Time `json:"until,omitempty"` // NextAgent: when to give up
	Conductor string     `json:"conductor"`
	Error     string     `json:"error,omitempty"` // NextFailed
	Cause     fault.Code `json:"cause,omitempty"` // of Error
	// Hold means, with NextFailed, that the operation holds for a decision whatever
	// its on_failure is, because conductors died of the step.
	Hold  bool                  `json:"hold,omitempty"`
	Steps []activities.StepLine `json:"steps"`
	// StepWait is what the current step waits for (NextAgent); nil = nothing.
	StepWait *node.Wait `json:"step_wait,omitempty"`
}

// StepsUpdate tells a workflow how far its steps are while one of them runs, so that it can show it.
type StepsUpdate struct {
	Seq       int64                 `json:"seq"` // of the activity that runs them
	Conductor string                `json:"conductor"`
	Steps     []activities.StepLine `json:"steps"`
	StepWait  *node.Wait            `json:"step_wait,omitempty"` // what the step waits for that runs; nil = not known
}
