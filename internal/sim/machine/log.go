package machine

import (
	"slices"
	"sync"
	"time"
)

// LogKind is what an entry of the event log is about.
type LogKind string

// What the BMC writes into its event log.
const (
	LogPoweredOn   LogKind = "powered on"
	LogPoweredOff  LogKind = "powered off"
	LogRestarted   LogKind = "restarted"
	LogInterrupted LogKind = "interrupted" // by an NMI
	LogLoginFailed LogKind = "login failed"
	LogCleared     LogKind = "log cleared"
)

// LogEntry is an entry of the event log.
type LogEntry struct {
	ID   int // from 1, also after the log was cleared
	At   time.Time
	Kind LogKind
}

// maxLogEntries is how many entries a log has; the oldest are overwritten.
const maxLogEntries = 512

// EventLog is the event log of a server's BMC, which all its fronts show. It does not survive a restart of the process.
type EventLog struct {
	mu          sync.Mutex
	entries     []LogEntry
	last        int
	overflowed  bool
	added       time.Time
	cleared     time.Time
	reservation uint16
}

// Add adds an entry.
func (l *EventLog) Add(kind LogKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(kind)
}

func (l *EventLog) add(kind LogKind) {
	l.last++
	l.added = time.Now()
	l.entries = append(l.entries, LogEntry{ID: l.last, At: l.added, Kind: kind})
	if len(l.entries) > maxLogEntries {
		l.entries, l.overflowed = l.entries[1:], true
	}
}

// Entries returns the entries, the oldest first.
func (l *EventLog) Entries() []LogEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]LogEntry(nil), l.entries...)
}

// Clear removes all entries of these kinds, of every kind if none is named, and adds one that says so.
func (l *EventLog) Clear(kinds ...LogKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = slices.DeleteFunc(l.entries, func(e LogEntry) bool { return len(kinds) == 0 || slices.Contains(kinds, e.Kind) })
	l.overflowed, l.cleared = false, time.Now()
	l.reservation++ // clearing cancels reservations (IPMI 2.0, 31.4)
	l.add(LogCleared)
}

// LogState is what the BMC tells of a log as a whole.
type LogState struct {
	Entries, Free  int // the number of entries that it has, and that it has room for
	Added, Cleared time.Time
	Overflowed     bool // entries were overwritten
}

// State returns the state of the log.
func (l *EventLog) State() LogState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LogState{len(l.entries), maxLogEntries - len(l.entries), l.added, l.cleared, l.overflowed}
}

// Reserve cancels the reservation that there is, and returns a new one.
func (l *EventLog) Reserve() uint16 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reservation++
	if l.reservation == 0 { // means "none"
		l.reservation++
	}
	return l.reservation
}

// Reserved reports whether a reservation is still the one that counts.
func (l *EventLog) Reserved(id uint16) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return id != 0 && id == l.reservation
}

// notePower writes a request for power into the journal, and what it did into the event log.
func (s *Server) notePower(t ResetType, from, to Power, effect bool) {
	s.recordPower(t, from, to, effect)
	switch {
	case !effect:
	case t == ResetNMI:
		s.Log.Add(LogInterrupted)
	case to == Off:
		s.Log.Add(LogPoweredOff)
	case from == On:
		s.Log.Add(LogRestarted)
	default:
		s.Log.Add(LogPoweredOn)
	}
}
