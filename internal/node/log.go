package node

import "time"

// LogKind is what has written a log.
type LogKind string

// The kinds of logs.
const (
	AgentLog   LogKind = "agent"   // of the ramdisk's agent and system, collected when a step has failed
	ConsoleLog LogKind = "console" // what a server printed on its serial console while it booted the ramdisk
)

// LogsKept is how many logs of each kind are kept of a node.
const LogsKept = 4

// LogKinds is how many kinds there are.
const LogKinds = 2

// Log is something that was written while an operation ran, and that is kept after it.
type Log struct {
	ID        int64 // in the database
	Operation int64
	Kind      LogKind
	Step      string
	Conductor string    // that has collected it
	At        time.Time // when it was collected
	Content   string    // without secrets that Temper knows
}
