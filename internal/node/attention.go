package node

import (
	"time"

	"go.temper.dev/temper/internal/fault"
)

// Attention is why a node needs a person. Package store finds those that do.
type Attention struct {
	NodeUUID, NodeName string
	ProvisionState     State
	Rank               int // the worst reasons have the lowest ranks
	Reason             Reason
	Cause              fault.Code     // "" = there is none
	Error              string         // what failed, for people; "" = nothing did
	Health             []HealthReason // what is wrong with its hardware, if that is the reason
	Operation          int64          // that failed or is open; 0 = none
	Since              *time.Time     // nil = not known

	ID int64 // of the node
}

// AttentionGroup counts the nodes that need a person for the same reason and cause.
type AttentionGroup struct {
	Rank   int
	Reason Reason
	Cause  fault.Code // "" = there is none
	Nodes  int
	Since  *time.Time // the earliest; nil = not known
	Names  []string   // of some of the nodes: names, or uuids of those without one
}

// Reason is why a node needs a person. The values are stable.
type Reason string

// The reasons, the worst first.
const (
	ReasonHeld        Reason = "held"        // an operation waits for a decision, or for somebody to unhold the node
	ReasonFailed      Reason = "failed"      // its state is that of a failure
	ReasonLate        Reason = "late"        // its operation takes longer than it should
	ReasonOwed        Reason = "owed"        // the hardware refused to undo what earlier work left
	ReasonFault       Reason = "fault"       // a failure has put it into maintenance
	ReasonPower       Reason = "power"       // its latest operation, a power request, failed in the last day
	ReasonUnhealthy   Reason = "unhealthy"   // its BMC says that its health is critical
	ReasonQuarantined Reason = "quarantined" // no live conductor covers it
)

// Reasons lists the reasons, the worst first.
var Reasons = []Reason{ReasonHeld, ReasonFailed, ReasonLate, ReasonOwed, ReasonFault, ReasonPower, ReasonUnhealthy, ReasonQuarantined}

// AttentionFilter narrows a list of what needs a person. An empty field does not.
type AttentionFilter struct {
	Nodes                 []string // uuids
	Reason                Reason
	Cause                 fault.Code
	ConductorGroup        *string
	Driver, ResourceClass string
	State                 State
	Only                  *View // nil = all nodes
	Limit                 int   // 0 or more than MaxLimit = MaxLimit
	AfterRank, AfterCount int   // of the last row of the page before; rank 0 = the first page
	AfterNode             int64
	AfterCause            fault.Code
}
