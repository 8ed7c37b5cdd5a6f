package agent

import (
	"math"
	"time"
)

// The agent's own timing, for agents that are simulated. Every function takes
// its chance as an argument between 0 and 1, so that a seed decides.

// MinHeartbeat is the least time between two heartbeats, forced ones included.
const MinHeartbeat = 5 * time.Second

// HeartbeatDelay is the pause after a heartbeat that was taken: 0.3 to 0.6 of
// the heartbeat_timeout.
func HeartbeatDelay(timeout time.Duration, chance float64) time.Duration {
	return time.Duration(float64(timeout) * (0.3 + 0.3*chance))
}

// HeartbeatRetry is the pause after one that was refused or lost: 5 to 10 s.
func HeartbeatRetry(chance float64) time.Duration {
	return time.Duration(float64(MinHeartbeat) * (1 + chance))
}

// ForcedHeartbeat is how long a forced heartbeat (a command has finished) still
// waits, sinceLast after the last one.
func ForcedHeartbeat(sinceLast time.Duration) time.Duration {
	return max(0, MinHeartbeat-sinceLast)
}

// Lookups are given up after LookupTimeout and pause no longer than lookupMax.
const (
	LookupTimeout = 300 * time.Second
	lookupMin     = time.Second
	lookupMax     = time.Minute
)

// LookupDelay is the pause after the attempt-th (from 1) lookup that found
// nothing: at random between 1 s and 2^attempt s, at most a minute.
func LookupDelay(attempt int, chance float64) time.Duration {
	high := min(lookupMax, time.Duration(math.Exp2(float64(min(max(attempt, 0), 6))))*time.Second)
	return lookupMin + time.Duration(float64(high-lookupMin)*chance)
}

// LookupConflictDelay comes before LookupDelay where the lookup was answered
// with the conflict-th 409 in this boot (from 1): 5, 10, then 30 s.
func LookupConflictDelay(conflict int) time.Duration {
	switch {
	case conflict <= 1:
		return 5 * time.Second
	case conflict == 2:
		return 10 * time.Second
	}
	return 30 * time.Second
}

// InspectionAttempts is how often inspection data is posted before the agent
// goes on to its lookup; it repeats on 409, on 5xx and without an answer.
const InspectionAttempts = 5

// InspectionDelay is the pause after the attempt-th (from 1) post: 5 to 30 s.
func InspectionDelay(attempt int) time.Duration {
	d := time.Duration(1.5 * math.Exp2(float64(min(max(attempt, 1), 8)-1)) * float64(time.Second))
	return min(max(d, 5*time.Second), 30*time.Second)
}
