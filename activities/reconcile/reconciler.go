package reconcile

import (
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/node"
)

// Reconciler has the activity of the scheduled reconciliation, Tick.
type Reconciler struct {
	Store      Store
	Ring       RingStore
	Operations OperationStore
	Starter    activities.WorkflowStarter
	Controller WorkflowController
	Describer  activities.WorkflowDescriber
	Defaults   node.Defaults // of the operations that it opens
	Shares     ShareStore
	Instances  InstanceStore
	Reaping    Reaping
	Safe       time.Duration // how long activities of a closed workflow may still act
	// MediaTimeout is how long after an insertion was sent the medium may still appear.
	MediaTimeout time.Duration
	Interval     time.Duration // between two ticks
	Retention    time.Duration // of the records of deleted nodes
	Events       EventsKept
	Audit        AuditKept
	SayLost      string // how somebody says that Temporal has lost its data: a command, and what it does
	Log          *zap.Logger
}

// TickResult is what a reconciliation did, for its details in Temporal's UI.
type TickResult struct {
	Started     int      `json:"started"`     // operations that nobody had started
	Recovered   int      `json:"recovered"`   // operations that had lost their workflow, ended
	Cancelled   int      `json:"cancelled"`   // cancellations repeated
	Nudged      int      `json:"nudged"`      // workflows signalled, because their rows have news
	Paused      int      `json:"paused"`      // operations that are paused in Temporal
	Epoch       int64    `json:"epoch"`       // of the ring, after the tick
	Moved       int      `json:"moved"`       // nodes with another owner than before
	Quarantined int      `json:"quarantined"` // nodes that nobody covers any more
	Released    int      `json:"released"`    // nodes that are covered again
	Undone      int      `json:"undone"`      // operations opened for owed undos
	Expired     int      `json:"expired"`     // compute services that went silent
	Reaped      int      `json:"reaped"`      // nodes whose instance is gone, undeployed
	Forgotten   int      `json:"forgotten"`   // deleted nodes whose records were dropped
	Took        string   `json:"took"`
	Alarm       string   `json:"alarm,omitempty"`
	Failed      []string `json:"failed,omitempty"` // parts that failed, and why
}

// Details are the result for people.
func (t TickResult) Details() string {
	lines := []string{
		fmt.Sprintf("epoch %d, moved %d, quarantined %d, released %d", t.Epoch, t.Moved, t.Quarantined, t.Released),
		fmt.Sprintf("operations: started %d, cancelled %d, nudged %d, recovered %d, undoing %d, paused in Temporal %d",
			t.Started, t.Cancelled, t.Nudged, t.Recovered, t.Undone, t.Paused),
		fmt.Sprintf("compute services: expired %d, reaped %d", t.Expired, t.Reaped),
		"took " + t.Took,
	}
	if t.Alarm != "" {
		lines = append(lines, t.Alarm)
	}
	for _, f := range t.Failed {
		lines = append(lines, "failed: "+f)
	}
	return strings.Join(lines, "\n\n")
}

// EventsKept says which events are kept: those of this age, and no more than this number.
type EventsKept struct {
	Age  time.Duration
	Most int
}

// AuditKept says which rows of the audit are kept.
type AuditKept struct {
	Age  time.Duration
	Most int
}

// Reaping says what happens to nodes whose instance is gone.
type Reaping struct {
	Report bool          // only report them
	After  time.Duration // since the instance was marked absent, where its service does not confirm it before
}
