package node

import (
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// Outcome is how an operation ended; "" while it is open.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
)

// Outcomes lists all outcomes.
var Outcomes = []Outcome{Succeeded, Failed, Cancelled}

// Ask is what somebody wants of an open operation. It is written in the operation's row,
// where workflows and steps read it, so that it outlives every process.
type Ask string

// The asks.
const (
	AskNone   Ask = ""
	AskCancel Ask = "cancel" // stop now, undo, end in the failed state
	AskAbort  Ask = "abort"  // stop now where the step is abortable, else after it
	AskDelete Ask = "delete" // stop, undo, then give the node back
	AskUnhold Ask = "unhold" // go on after a hold step
	AskPower  Ask = "power"  // a power request in a wait state; Operation.AskedPower
	// AskPause is never written. It tells the steps that the operation is paused and that
	// nothing else is asked of it (PendingAsk).
	AskPause Ask = "pause"
	// AskRest is never written either. It tells the steps that the workflow is paused
	// in Temporal: the current step ends and no other begins.
	AskRest Ask = "rest"
)

// Claim is the right of one attempt to work on an operation; only the newest claim may
// touch the hardware. The workflow raises Seq with every activity that it schedules, and
// Temporal raises Attempt with every attempt of that activity.
type Claim struct {
	Seq     int64 `json:"seq"`
	Attempt int32 `json:"attempt"`
}

// Operation is the reservation of a node and the record of what is done to it. It is open
// until EndedAt is set. The database allows one open operation for each node.
type Operation struct {
	ID       int64
	NodeUUID string
	NodeName string
	Kind     OperationKind
	Phase    Phase
	Version  int64 // grows with each write that the save of a conductor has to know
	Outcome  Outcome
	// Error says why it failed or was ended, or what it is undone or held for; for people,
	// no secrets, bounded to 4 KiB. Cause is the same for programs. Neither is set without
	// the other.
	Error string
	Cause fault.Code

	RequestedBy string
	Origin      State // provision state it was accepted in
	Target      State // provision state it is to end in; "" for power
	PowerTarget PowerState
	SoftTimeout time.Duration // power: how long a soft request may take; 0 = the setting

	AcceptedAt time.Time
	BegunAt    *time.Time
	EndedAt    *time.Time
	WorkflowID string
	RunID      string

	Claim     Claim
	ClaimedAt *time.Time
	Cover     Coverage         // who could work on it now. Only Store.Begin reads it, without Last
	CalledAt  *time.Time       // when the agent of this boot called first; nil = it has not. Only Store.change reads it
	Conductor string           // at work on the present step; "" = none yet
	Former    *FormerConductor // set for the conductor that takes the claim; nil = no conductor is known to have died with it

	// InFlight is a request to the node's BMC, of this operation or one before, that may still take effect. AnswerWithin is
	// how long the answers of that BMC are awaited, 0 = not known. RequestsSent is how many requests that change something were
	// recorded for that node so far, each right before it was sent. Only a claim reads these.
	InFlight     *BMCRequest
	AnswerWithin time.Duration
	RequestsSent int64

	Group, Driver string // the queue its steps go to: its node's

	WaitingFor   string // for people; "" = nothing
	WaitingUntil *time.Time
	// StepWait is what its running step waits for, as its conductor has told it last; nil = nothing that lasts.
	// LiveWait says whether that still holds.
	StepWait *Wait

	// UsualUntil is until when the current step usually has ended, and UsualTimes are how long
	// steps usually take, by name. Only a claim reads these.
	UsualUntil *time.Time
	UsualTimes map[string]Usual

	// Blocked says why it can't go on. Meanwhile KeptFor is what it waited for before, and
	// KeptLeft the time that was left for that; nil = no limit.
	Blocked   BlockReason
	BlockedAt *time.Time
	KeptFor   string
	KeptLeft  *time.Duration
	Paused    bool // its node was put into maintenance after it was accepted
	Orphaned  bool // it is paused, and the process that worked on it last was replaced without having stopped
	// TemporalPause is the pause that somebody has set in Temporal; nil = none is
	// known. Time limits stop meanwhile.
	TemporalPause *Pause
	// Rests: the conductor stopped in good order before the current step was over, so that it
	// or another conductor can take the step up again. If a step is running and Rests is not
	// set, a conductor works on it or has died while it did.
	Rests bool
	// InMaintenance: it was accepted while its node was in maintenance, so that maintenance
	// never pauses it.
	InMaintenance bool

	Steps []Step
	// Undo is what has to be put right if the operation ends now. Steps add to it and
	// remove from it.
	Undo []Undo

	Asked       Ask
	AskedBy     string
	AskedReason string
	AskedPower  PowerState
	AskedAt     *time.Time

	// Repeats is how many undos of the node failed with the same cause right before this one, and
	// RepeatsSince when the first of them was accepted.
	Repeats      int64
	RepeatsSince *time.Time

	RetryOf  int64 // 0 = none
	FollowUp int64 // the operation that closing it opened; 0 = none

	OnFailure OnFailure        // "" = fail
	Decisions []DecisionRecord // oldest first
}

// WorkflowID is the Temporal id of operation id of kind k on a node. The suffix tells apart operations that have the same
// number, because the database was restored from a backup in between; "" = an operation of an older version, without one.
func WorkflowID(uuid string, k OperationKind, id int64, suffix string) string {
	name := fmt.Sprintf("node/%s/%s/%d", uuid, k, id)
	if suffix != "" {
		name += "/" + suffix
	}
	return name
}

// WorkflowSuffix returns the suffix of a workflow's id.
func WorkflowSuffix(workflowID string) string {
	if parts := strings.SplitN(workflowID, "/", 5); len(parts) == 5 {
		return parts[4]
	}
	return ""
}

// QueueName is the Temporal task queue of the steps of a driver in a group.
func QueueName(group, driver string) string {
	if group == "" {
		group = "default"
	}
	return "conductor/" + group + "/" + driver
}

// Host is the process of a conductor to which work is sent: the conductor's name, and which
// process has that name.
type Host struct {
	Name        string `json:"name"`
	Incarnation int64  `json:"incarnation"`
}

// OwnQueue returns the Temporal task queue that only this process polls, for steps that
// must run there.
func OwnQueue(h Host) string { return fmt.Sprintf("host/%s/%d", h.Name, h.Incarnation) }

// EndSteps ends the steps that have begun and are not over, because the operation ends. If it has succeeded, every step is
// done. When the steps whose record was lost were done is not known.
func (o *Operation) EndSteps(outcome Outcome, at time.Time) {
	for i := range o.Steps {
		s := &o.Steps[i]
		if outcome == Succeeded && !s.Over() {
			s.State, s.StartedAt, s.EndedAt = StepDone, nil, nil
			continue
		}
		switch s.State {
		case StepRunning, StepWaiting:
			s.State = StepFailed
			if outcome == Cancelled {
				s.State = StepCancelled
			}
		case StepFailed:
		default:
			continue
		}
		if s.EndedAt == nil {
			s.EndedAt = &at
		}
	}
}

// StepAfter returns the next step after step, one of o's, that is not over; nil = there is none.
func (o *Operation) StepAfter(step *Step) *Step {
	past := false
	for i := range o.Steps {
		if s := &o.Steps[i]; past && !s.Over() {
			return s
		}
		past = past || &o.Steps[i] == step
	}
	return nil
}

// CurrentStep returns the first step that is not over; nil if all are.
func (o *Operation) CurrentStep() *Step {
	for i := range o.Steps {
		if !o.Steps[i].Over() {
			return &o.Steps[i]
		}
	}
	return nil
}

// EndsSoon reports whether o ends within seconds if nothing goes wrong: it is one request to the BMC, or its steps are all over.
// One that somebody has paused, or that waits for a person or a conductor, may stay open for long.
func (o *Operation) EndsSoon() bool {
	k := o.Kind.Spec()
	if o.Phase == Holding || o.Blocked != NotBlocked || o.TemporalPause != nil {
		return false
	}
	return k.PowerChange || k.Management || o.CurrentStep() == nil
}

// TakenUpIn is the time within which a running orchestrator begins what was accepted.
const TakenUpIn = 5 * time.Second

// NotTakenUp reports whether no workflow has begun o in the time in which a running orchestrator would have. Such an operation
// has touched nothing, so that it can be ended without a workflow; one that comes later finds it ended.
func (o *Operation) NotTakenUp(now time.Time) bool {
	return o.Phase == Accepted && now.Sub(o.AcceptedAt) > TakenUpIn
}

// PowerFailureTold is for how long it is told that a node's last operation was a request for a power state that failed.
const PowerFailureTold = 24 * time.Hour

// PowerFailedLately reports whether o, the newest operation of its node, is a request for a power state that failed in the
// last day.
func (o *Operation) PowerFailedLately(now time.Time) bool {
	return o.Kind.Spec().PowerChange && o.Outcome == Failed && o.EndedAt != nil && now.Sub(*o.EndedAt) < PowerFailureTold
}
