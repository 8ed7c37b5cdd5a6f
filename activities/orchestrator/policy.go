package orchestrator

import (
	"time"

	"go.temper.dev/temper/internal/node"
)

// Policy are the settings of workflows. Each workflow records them in its history when it begins.
type Policy struct {
	HeartbeatTimeout time.Duration            // of hardware steps
	ConductorTimeout time.Duration            // how long after its last heartbeat a conductor counts as dead
	WaitForConductor time.Duration            // how long an operation waits for a conductor that covers its node; 0 = not at all
	WaitInGroup      map[string]time.Duration // the same, where a conductor group has its own
	StepsTimeout     time.Duration            // the most that one run of steps may take. Default 48 h
	AutomatedClean   bool                     // for nodes that don't set it
	OnFailure        node.OnFailure           // of operations that follow from others
	DecisionWait     time.Duration            // how long a failed step waits for a decision, where that was asked for. Default 24 h
}

// Defaults returns the settings of operations that follow from others.
func (p Policy) Defaults() node.Defaults {
	return node.Defaults{AutomatedClean: p.AutomatedClean, OnFailure: p.OnFailure}
}

// conductorWait returns how long o waits for a conductor.
func (p Policy) conductorWait(o *node.Operation) time.Duration {
	wait, own := p.WaitInGroup[o.Group]
	if !own {
		wait = p.WaitForConductor
	}
	if most := o.Kind.Spec().ConductorWait; most > 0 {
		return min(wait, most)
	}
	return wait
}

// defaultStepsTimeout is the default of Policy.StepsTimeout. Erasing disks takes hours or a
// day. A step that hangs ends earlier, by its heartbeats and its own limits.
const defaultStepsTimeout = 48 * time.Hour
