package coverage

import "time"

// Health summarizes the fleet for metrics, for explanations and for GET /temper/v1/status.
type Health struct {
	Epoch      int64
	Age        time.Duration  // of the last reconciliation; below zero = there was none
	Outage     time.Duration  // how much of Age PostgreSQL or Temporal was away
	Contact    time.Duration  // since any orchestrator or conductor reached Temporal last; below zero = none has
	Conductors map[string]int // by state, one of States
	Dead       []string       // the first MaxDead dead conductors, by name
	// DeadGroup is the conductor group of the first of them, and DeadDrivers its drivers, with commas between them.
	DeadGroup, DeadDrivers string

	DeadFor   time.Duration // the longest time since the last heartbeat of a dead conductor,
	LastDead  time.Duration // and the shortest
	Late      []Late        // the first MaxDead conductors that are late, by name: they are alive,
	LateCount int           // but have sent no heartbeat for longer than two intervals
	DeadAfter time.Duration // from how long without a heartbeat on a conductor is dead
	Processes []Process     // by role and name
}

// Late is a conductor whose heartbeat is overdue.
type Late struct {
	Name   string
	Silent time.Duration // since its last heartbeat
}

// MaxDead bounds Health.Dead and Health.Late.
const MaxDead = 5

// Role is what a process of Temper does.
type Role string

// The roles of the processes that record that they are there.
const (
	RoleAPI          Role = "api"
	RoleOrchestrator Role = "orchestrator"
	RoleConductor    Role = "conductor"
	RoleBoot         Role = "boot"
)

// Process is a process of Temper that records at intervals that it is there. Whether a conductor
// is alive is not decided by this record (Conductor.Alive).
type Process struct {
	Role      Role
	Name      string // a conductor's hostname; else host/pid
	Version   string
	StartedAt time.Time
	Alive     bool          // its latest record is fresh, by the database's clock
	Silent    time.Duration // since its latest record, by the database's clock
	// Ahead is how far the process's clock is ahead of the database's; nil = not known. It was
	// measured with an error of at most Error.
	Ahead *time.Duration
	Error time.Duration
}

// ForgottenAfter is how long the record of a process is kept that has died without deleting it. One that stops deletes its record.
const ForgottenAfter = time.Hour

// Of returns the processes of a role that are alive or have died within ForgottenAfter, and how many of them are alive.
func (h *Health) Of(r Role) (all []Process, alive int) {
	for _, p := range h.Processes {
		if p.Role != r || !p.Alive && p.Silent > ForgottenAfter {
			continue
		}
		all = append(all, p)
		if p.Alive {
			alive++
		}
	}
	return all, alive
}
