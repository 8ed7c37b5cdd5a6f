package node

import "time"

// HistoryEvent is one line of a node's history.
type HistoryEvent struct {
	UUID      string
	NodeUUID  string
	CreatedAt time.Time // zero in an event that is written = now
	Event     string    // words for people, bounded to 8 KiB
	EventType string    // one of the types below
	Severity  string    // INFO, ERROR
	Conductor string
	User      string
	Operation int64 // 0 = none
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
