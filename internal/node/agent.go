package node

import (
	"fmt"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// Agent is what the ramdisk agent of a node last said.
type Agent struct {
	URL              string // callback_url, no trailing slash; "" = no heartbeat in this boot yet
	Version          string
	VerifyCA         string // PEM the agent sent, "" = none
	FirstHeartbeatAt *time.Time
	LastHeartbeatAt  *time.Time
	LookedUpAt       *time.Time
	InspectedAt      *time.Time // when the inventory of this boot came in
	// TokenSource is who got the token first, and RefusedSource who was refused it last because of that: MACs, and behind an @ the
	// address; "" = nobody.
	TokenSource, RefusedSource string
}

// NeverCalled is the failure of a step that waited in vain for the call of n's agent, nil if nothing is known of why.
func (n *Node) NeverCalled() *Failure {
	const never = "the agent of node %s has not called in time; "
	switch a := n.Agent; {
	case a != nil && a.RefusedSource != "" && a.FirstHeartbeatAt == nil:
		return &Failure{Cause: fault.AgentTokenTaken, Error: fmt.Sprintf(never+"%s looked itself up first and got its token, and %s was refused it", n.UUID, a.TokenSource, a.RefusedSource)}
	case n.MediumRead != nil:
		return &Failure{Cause: fault.AgentNeverCalled, Error: fmt.Sprintf(never+"the server had read %s", n.UUID, n.MediumRead.Words())}
	}
	return nil
}

// AgentCalledBack reports whether the agent of the present boot is there: it has
// sent a heartbeat or, where it is booted to be inspected, its inventory.
func (n *Node) AgentCalledBack(k OperationKind) bool {
	a := n.Agent
	if a == nil {
		return false
	}
	if k.Spec().Family == InspectFamily {
		return a.InspectedAt != nil
	}
	return a.URL != "" && a.FirstHeartbeatAt != nil
}

// The phases of a step that boots the agent. Each says what is known of the server.
const (
	PhaseOff    = "off"    // it was seen off
	PhaseArmed  = "armed"  // virtual media and boot override were read back while it was off
	PhaseBooted = "booted" // it was seen on; the agent has not called yet
)

// AgentBelongs reports whether an agent may run on n: n's open operation uses one.
func (n *Node) AgentBelongs() bool { return n.Operation != nil && UsesAgent(n, n.Operation.Kind) }

// AwaitsInventory reports whether an agent on n may send its inventory: n is being
// inspected in band, its server is prepared to boot the agent, and no inventory was
// read yet.
func (n *Node) AwaitsInventory() bool {
	if !n.AgentBelongs() || n.Operation.Kind.Spec().Family != InspectFamily {
		return false
	}
	for _, s := range n.Operation.Steps {
		switch rule := s.Rule(); {
		case rule.BootsAgent && !s.Over() && s.Phase != PhaseArmed && s.Phase != PhaseBooted:
			return false
		case rule.Collects:
			return !s.Over()
		}
	}
	return false
}
