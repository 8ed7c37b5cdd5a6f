package node

import (
	"slices"

	"go.temper.dev/temper/internal/fault"
)

// OperationEvent is something that changes the state of an operation.
type OperationEvent string

// The events, by who makes them happen.
const (
	// Requests.
	OpAccept OperationEvent = "accept" // the operation is opened
	OpAsk    OperationEvent = "ask"    // somebody wants something of it

	// Its workflow.
	OpBegin  OperationEvent = "begin"  // a run makes it its own
	OpBlock  OperationEvent = "block"  // it can't go on
	OpResume OperationEvent = "resume" // a conductor can work on it again
	OpArrive OperationEvent = "arrive" // what it waited for is there
	OpHold   OperationEvent = "hold"   // a step has failed, or is named hold: a person decides
	OpDecide OperationEvent = "decide" // a person has decided
	OpFail   OperationEvent = "fail"   // it has failed, or its end was asked for: its undo is planned
	OpAdopt  OperationEvent = "adopt"  // another run has its work now
	OpEnd    OperationEvent = "end"    // also by reconciliation, by a request, or with its node

	// The conductor that has the claim.
	OpClaim    OperationEvent = "claim"     // a conductor takes it
	OpRun      OperationEvent = "run"       // a step begins, or sends a command
	OpWait     OperationEvent = "wait"      // a step waits for the agent to call back
	OpUndo     OperationEvent = "undo"      // what is half done is put right
	OpRecord   OperationEvent = "record"    // other progress
	OpTell     OperationEvent = "tell"      // a step that lasts says what it waits for
	OpHandOver OperationEvent = "hand over" // the conductor stops in good order before its step is over

	// Other things that happen meanwhile.
	OpPause           OperationEvent = "maintenance"
	OpUnpause         OperationEvent = "maintenance lifted"
	OpTemporalPause   OperationEvent = "pause in Temporal"
	OpTemporalUnpause OperationEvent = "unpause in Temporal"
	OpLose            OperationEvent = "conductor replaced" // another process has registered under its name
)

// OperationRule is one transition of an operation.
type OperationRule struct {
	Event OperationEvent
	From  []Phase // none = there is no operation yet
	To    Phase   // "" = the phase stays
	When  string  // which one, if the event has several from a phase
	// Writes is what the event writes beside the phase. Package store does it, in one
	// file; what it does in SQL alone, a test compares with Go.
	Writes string
}

var (
	open  = []Phase{Accepted, Running, Waiting, Holding, Undoing}
	begun = open[1:]
)

// OperationRules is the whole life cycle of operations. What is not here is refused.
var OperationRules = []OperationRule{
	{OpAccept, nil, Accepted, "", "what is asked for, the steps; in_maintenance if the node is; paused if what it follows would be"},

	{OpBegin, []Phase{Accepted}, Running, "", "run_id, begun_at"},
	{OpBegin, begun, "", "the same run begins again", "nothing"},

	{OpClaim, begun, "", "", "the claim; usual_until is moved by the length of the outages since the current step began, or since the previous claim if that is later; orphaned is cleared; temporal_pause, too, if Temporal would not have begun this attempt during it"},
	{OpRun, []Phase{Running, Waiting, Holding}, Running, "", "steps, undo, step_wait; stalled, waiting_for and waiting_until are cleared"},
	{OpWait, []Phase{Running, Waiting}, Waiting, "", "waiting_for, waiting_until, steps, undo, step_wait"},
	{OpHold, []Phase{Running}, Holding, "at a hold step", "waiting_for, steps, undo"},
	{OpHold, []Phase{Running, Waiting, Holding}, Holding, "at a step that failed", "waiting_for a decision, waiting_until, the claim, error, cause; stalled and step_wait are cleared"},
	{OpUndo, begun, Undoing, "", "waiting_for, waiting_until; stalled is cleared"},
	{OpRecord, begun, "", "", "steps, undo, handed_over, step_wait; stalled is cleared; asked, if it was to unhold or for power and is done"},
	{OpTell, begun, "", "", "step_wait"},
	{OpHandOver, begun, "", "", "handed_over; temporal_pause, if that is why"},

	{OpBlock, []Phase{Running, Waiting, Holding}, Waiting, "", "stalled, stalled_at, waiting_for, waiting_until; what was waited for is kept in kept_for and kept_left"},
	{OpResume, []Phase{Waiting}, Waiting, "it waited for something before", "waiting_for and waiting_until from kept_for and kept_left; stalled is cleared"},
	{OpResume, []Phase{Waiting}, Running, "it waited for nothing before", "stalled is cleared"},
	{OpArrive, []Phase{Waiting}, Running, "", "waiting_for, waiting_until and stalled are cleared"},
	{OpDecide, []Phase{Holding}, Running, "retry or skip", "decisions, the claim, the step; waiting_for, error, cause and an unhold that was asked for are cleared"},
	{OpDecide, []Phase{Holding}, Undoing, "abort", "decisions, the claim, asked; waiting_for, error and cause are cleared"},
	{OpFail, begun, "", "", "undo; error and cause, if it has failed, else they are cleared; usual_until and step_wait are cleared"},
	{OpAdopt, []Phase{Running, Waiting, Holding}, "", "nothing waits for a decision", "run_id, the claim"},
	{OpAdopt, []Phase{Holding, Undoing}, Running, "after a reset, at a step that failed or in the undo", "run_id, the claim; waiting_for, error and cause are cleared"},

	{OpPause, open, "", "", "paused, unless it was accepted in maintenance or changes power; one that is waiting is blocked at once"},
	{OpUnpause, open, "", "", "paused and orphaned are cleared; its workflow unblocks it"},
	{OpTemporalPause, open, "", "", "temporal_pause"},
	{OpTemporalUnpause, open, "", "", "temporal_pause is cleared; waiting_until moves by how long the pause was"},
	{OpLose, open, "", "", "orphaned, if it is paused"},
	{OpAsk, open, "", "", "asked, asked_by, asked_reason, asked_power, asked_at"},

	{OpEnd, open, Ended, "", "outcome, error, cause, ended_at, the steps' ends; waiting_for, stalled, step_wait and all pauses are cleared"},
}

// allows reports whether the rule is one for event e in phase from.
func (r OperationRule) allows(e OperationEvent, from Phase) bool {
	return r.Event == e && (from == "" && r.From == nil || slices.Contains(r.From, from))
}

// MayBecome reports whether event e can lead an operation from phase from to phase to.
func MayBecome(e OperationEvent, from, to Phase) bool {
	return slices.ContainsFunc(OperationRules, func(r OperationRule) bool {
		return r.allows(e, from) && (r.To == to || r.To == "" && from == to)
	})
}

// become moves o to phase to. It returns fault.Conflict if the table has no such rule.
func (o *Operation) become(e OperationEvent, to Phase) error {
	if !MayBecome(e, o.Phase, to) {
		return fault.New(fault.Conflict, "Operation %d of node %s is %s: the event %q can not make it %s.", o.ID, o.NodeUUID, o.Phase, e, to)
	}
	o.Phase = to
	return nil
}
