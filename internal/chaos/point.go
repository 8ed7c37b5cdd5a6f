// Package chaos stops a process at named points, so that a test can kill it there, freeze it or cut it off. Package wrap
// puts the points around the parts of Temper's roles. Only a program that is built with the tag chaos contains them.
package chaos

import "time"

// The points. A step passes its points in this order, Request and Answered once for each request that it sends.
const (
	Claimed  = "claimed"  // an attempt has claimed the operation and read its secrets, and has written nothing yet
	Begun    = "begun"    // the record that the step begins, and that the one before has ended, is written
	Looked   = "looked"   // the hardware was read
	Request  = "request"  // a request that changes something is recorded and about to be sent; the guard has not checked the claim yet
	Answered = "answered" // the request was answered; that is not recorded yet
	Over     = "over"     // the step has ended; that is about to be recorded
	Recorded = "recorded" // it is recorded that the step waits or that all steps have ended; the workflow does not know yet

	HandedOver = "handed over" // an attempt records that it gives the step to another one; a process can't be stopped here

	Accepted = "accepted" // api: the operation is committed, its workflow not started
	Started  = "started"  // api: its workflow is started, the client has no answer

	Beginning = "beginning" // orchestrator: the run is recorded as the operation's; the workflow does not know yet
	Closing   = "closing"   // orchestrator: the operation is about to be closed
	Closed    = "closed"    // orchestrator: it is closed; the workflow does not know yet
)

// Undo is the Step of points in the undo of an operation.
const Undo = "undo"

// Point is a point that a process reaches in its work on an operation.
type Point struct {
	Name      string `json:"point"`
	Operation int64  `json:"operation"`
	Node      string `json:"node"`              // uuid
	Step      string `json:"step,omitempty"`    // interface.step
	Request   string `json:"request,omitempty"` // Request and Answered: what is sent. Looked: what was read. Claimed and Begun: the phase in which the attempt before left the step
}

// Env is the environment variable that names the folder through which tests control a process:
//
//	arm/NODE      an Arm: where to stop on that node, once
//	reached/NODE  the Point at which the process has stopped; the process writes it
//	release       when this file exists, stopped processes go on
//	trace         every point that the process has passed, a Passed each line; the process writes it
//	limit         while this file exists, new workflows have this run timeout, in Go's notation
const Env = "TEMPER_CHAOS"

// An Arm is a Point to stop at. An empty Step or Request matches any. If it is deaf, the process stays stopped even when
// the context ends.
type Arm struct {
	Point
	Deaf bool `json:"deaf"`
}

// Passed is a point that a process has passed.
type Passed struct {
	Point
	At time.Time `json:"at"`
}
