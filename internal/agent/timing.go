package agent

import (
	"math"
	"time"
)

// The agent's own timing, for simulated agents. Randomness is an argument from 0 to 1
// (chance), so that a seed determines it.

// MinHeartbeat is the shortest time between two heartbeats, also of forced ones.
const MinHeartbeat = 5 * time.Second

// HeartbeatDelay is the pause after an accepted heartbeat: 0.3 to 0.6 of the
// heartbeat_timeout.
func HeartbeatDelay(timeout time.Duration, chance float64) time.Duration {
	return time.Duration(float64(timeout) * (0.3 + 0.3*chance))
}

// HeartbeatRetry is the pause after a heartbeat that was refused or lost: 5 to 10 s.
func HeartbeatRetry(chance float64) time.Duration {
	return time.Duration(float64(MinHeartbeat) * (1 + chance))
}

// The pause between two lookups is from lookupMin to lookupMax.
const (
	lookupMin = time.Second
	lookupMax = time.Minute
)

// LookupDelay is the pause after lookup number attempt (from 1) found nothing: a random time
// from 1 s to 2^attempt s, at most a minute.
func LookupDelay(attempt int, chance float64) time.Duration {
	high := min(lookupMax, time.Duration(math.Exp2(float64(min(max(attempt, 0), 6))))*time.Second)
	return lookupMin + time.Duration(float64(high-lookupMin)*chance)
}

// LookupConflictDelay is the pause that the agent adds to LookupDelay after 409 number
// conflict (from 1) of this boot: 5, 10, then 30 s.
func LookupConflictDelay(conflict int) time.Duration {
	switch {
	case conflict <= 1:
		return 5 * time.Second
	case conflict == 2:
		return 10 * time.Second
	}
	return 30 * time.Second
}

// InspectionAttempts is how often the agent posts its inspection data before it continues
// with its lookup. It repeats the post after 409, after 5xx and if there is no answer.
const InspectionAttempts = 5

// InspectionDelay is the pause after post number attempt (from 1): 5 to 30 s.
func InspectionDelay(attempt int) time.Duration {
	d := time.Duration(1.5 * math.Exp2(float64(min(max(attempt, 1), 8)-1)) * float64(time.Second))
	return min(max(d, 5*time.Second), 30*time.Second)
}
