package node

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// HistoryEvent is one line of a node's history. UUID, NodeUUID and CreatedAt mean nothing in one that is to be written.
type HistoryEvent struct {
	UUID      string
	NodeUUID  string
	CreatedAt time.Time
	Event     string // words for people, bounded to 8 KiB
	EventType string // one of the types below
	Severity  string // INFO, ERROR
	Conductor string
	User      string
	Operation int64 // 0 = none
	// State and TargetState are the node's provision state and its target after the event; a store reads them from the node.
	State, TargetState State
	// Lasted is how many seconds the node had been in the state that it left; nil = it left none, or nobody knows.
	Lasted *float64
	// DeletedAt is when the event's node was deleted; nil = it is not deleted.
	DeletedAt *time.Time
}

// The types of events in a node's history.
const (
	HistoryAccepted    = "accepted"
	HistoryState       = "state"
	HistoryError       = "error"
	HistorySteering    = "steering"
	HistoryChange      = "change"
	HistoryMaintenance = "maintenance"
	HistoryQuarantine  = "quarantine"
	HistoryHardware    = "hardware" // an inspection found other hardware than the one before
	HistoryProgress    = "progress" // of an operation: hand-overs, boots, the agent's calls, waits
)

// historyUUIDEnd is the end of the uuids of events: version 8 (RFC 9562), with the event's number in its first 48 bits.
const historyUUIDEnd = "-8000-8000-000000000000"

// HistoryUUID returns the uuid that the event with this number has in the history of its node.
func HistoryUUID(seq int64) string {
	number := fmt.Sprintf("%012x", seq)
	return number[:8] + "-" + number[8:] + historyUUIDEnd
}

// HistorySeq returns the number of the event that HistoryUUID gives this uuid; ok is false if it gives it to none.
func HistorySeq(uuid string) (seq int64, ok bool) {
	number, ok := strings.CutSuffix(strings.ToLower(uuid), historyUUIDEnd)
	seq, err := strconv.ParseInt(strings.Replace(number, "-", "", 1), 16, 64)
	return seq, ok && err == nil && HistoryUUID(seq) == strings.ToLower(uuid)
}
