// Package chaos stops a process at named points, so that a test can do to it there what it likes. Package wrap puts the
// points around the parts of Temper's roles. Only a program that is built with the tag chaos has either of them.
package chaos

import "time"

// The points. Those of a step come in this order, Request and Answered for each request that it sends.
const (
	Claimed  = "claimed"  // an attempt has the operation and read its secrets, nothing of it is written yet
	Begun    = "begun"    // the record that the step begins, and that the one before is over, is written
	Looked   = "looked"   // the hardware was read
	Request  = "request"  // a request that changes something is recorded and about to be sent; its claim was not looked at yet
	Answered = "answered" // it was answered, which is not recorded yet
	Over     = "over"     // the step is over, and that is about to be recorded
	Recorded = "recorded" // that it waits, or that all steps are over, is recorded; the workflow was not told yet

	Accepted = "accepted" // api: the operation is committed, its workflow not started
	Started  = "started"  // api: its workflow is started, the client not answered

	Beginning = "beginning" // orchestrator: the run is recorded as the operation's, the workflow was not told yet
	Closing   = "closing"   // orchestrator: the operation is about to be closed
	Closed    = "closed"    // orchestrator: it is closed, the workflow was not told yet
)

// Undo stands for a step where what is half done is undone.
const Undo = "undo"

// Point is a place in what a process does for an operation.
type Point struct {
	Name      string `json:"point"`
	Operation int64  `json:"operation"`
	Node      string `json:"node"`              // uuid
	Step      string `json:"step,omitempty"`    // interface.step
	Request   string `json:"request,omitempty"` // Request and Answered: what is sent. Looked: what was read. Claimed and Begun: the phase of a step that was left
}

// Env names the folder from which a process is told where to stop:
//
//	arm/NODE      an Arm: where to stop on that node, once
//	reached/NODE  written by the process when it has: the Point
//	release       once it is there who has stopped goes on
//	trace         written by the process: each point that it came by, as Passed, a line each
//	limit         how long a workflow may run that is started while it is there, in Go's notation
const Env = "TEMPER_CHAOS"

// An Arm is a Point to stop at; an empty Step or Request is any. A deaf one does not even go on when its context ends.
type Arm struct {
	Point
	Deaf bool `json:"deaf"`
}

// Passed is a point that a process came by.
type Passed struct {
	Point
	At time.Time `json:"at"`
}
