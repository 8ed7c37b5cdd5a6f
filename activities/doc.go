// Package activities does what workflows decide: every exported method that
// takes a context is one activity, looks before it acts, and may run twice. It
// never decides what comes next, and never reaches PostgreSQL or a BMC library
// itself: package worker hands in the real ones.
package activities

import (
	"cmp"
	"context"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/node"
)

// Records are the writes of steps. Each is fenced by operation and claim; a
// claim that is not the newest is fault.Lost.
type Records interface {
	// Claim takes the operation for an attempt that Temporal started at started, and
	// returns the node, whose operation has the new claim.
	Claim(ctx context.Context, operation int64, runID string, c node.Claim, started time.Time, conductor string) (*node.Node, error)
	CheckClaim(ctx context.Context, operation int64, c node.Claim) (node.Ask, error)
	SaveSteps(ctx context.Context, operation int64, c node.Claim, p node.Progress) (node.Ask, error)
	// PutDown records that the conductor has left the step in good order; p is the
	// pause in Temporal that is the reason, nil if there is none.
	PutDown(ctx context.Context, operation int64, c node.Claim, p *node.Pause) error
	SaveInspection(ctx context.Context, operation int64, c node.Claim, i node.Inspection) (leftOut int, err error)
	// StillDead returns the deaths without those of conductors that have turned out
	// to be alive.
	StillDead(ctx context.Context, deaths []node.Death) ([]node.Death, error)
	// Credentials opens n's secrets, which are bound to the BMC that n names.
	Credentials(ctx context.Context, n *node.Node) (node.Secrets, error)
	Node(ctx context.Context, ident string) (*node.Node, error)
	AgentToken(ctx context.Context, nodeUUID string) (string, error)
	NodePorts(ctx context.Context, nodeUUID string) ([]node.Port, error)
	Covering(ctx context.Context, nodeUUID string) ([]node.Host, error)
	Inventory(ctx context.Context, nodeUUID string) (inventory, plugin map[string]any, err error)
}

// Agent is a conversation with the ramdisk agent of one boot.
type Agent interface {
	// Commands lists what the agent was told since it booted, oldest first.
	Commands(ctx context.Context) ([]agent.Result, error)
	// Start gives a command that takes a while, and returns when the agent has it. It
	// is not repeated: after a lost answer, Commands tells whether it arrived.
	Start(ctx context.Context, command string, params any) (agent.Result, error)
	ListSteps(ctx context.Context, f agent.Family, about agent.ListSteps) (agent.StepLists, error)
	GetPartitionUUIDs(ctx context.Context) (agent.PartitionUUIDs, error)
	Close()
}

// OpenAgent is Steps.OpenAgent for agents that are spoken to over HTTP.
func OpenAgent(t agent.Target, s agent.Settings) (Agent, error) {
	c, err := agent.NewClient(t, s)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Settings of the steps.
type Settings struct {
	Conductor        string                        // this conductor's name
	HeartbeatTimeout time.Duration                 // Temporal's, of a step; requests to hardware are shorter
	PowerTimeout     time.Duration                 // until a power change must be seen
	SoftPowerTimeout time.Duration                 // until a soft power off must be seen, where the request names none
	PowerSettle      time.Duration                 // how long a request that somebody recorded before is given to show before it is sent again
	PowerPoll        time.Duration                 // at the most between two looks at the power state
	MediaTimeout     time.Duration                 // until an inserted medium must show at the BMC; shorter than an undo may take
	MediaPoll        time.Duration                 // longest pause between two reads of the virtual drive
	AgentPoll        time.Duration                 // at the most between two looks at an agent's command
	AgentWait        map[node.Family]time.Duration // how long the agent's call after boot is waited for: deploy_callback_timeout, ...
	TellAfter        time.Duration                 // how long a step runs before its workflow is told
	StepLimits       map[string]int                // how often a step may fail, by "interface.step"; others StepLimit
	ConductorBeat    time.Duration                 // between two heartbeats of a conductor
	DeathWithin      time.Duration                 // a conductor that dies within this time of taking a step up may have died of the step
	DeathPause       time.Duration                 // by how long the first such try is put off
	Agent            agent.Settings
}

// WithDefaults fills what is zero.
func (s Settings) WithDefaults() Settings {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&s.HeartbeatTimeout, 5*time.Second)
	def(&s.ConductorBeat, 3*time.Second)
	def(&s.DeathWithin, 10*time.Second)
	def(&s.DeathPause, time.Minute)
	def(&s.PowerTimeout, time.Minute)
	def(&s.SoftPowerTimeout, 10*time.Minute)
	def(&s.PowerSettle, 5*time.Second)
	def(&s.PowerPoll, time.Second)
	def(&s.MediaTimeout, 2*time.Minute)
	def(&s.MediaPoll, 2*time.Second)
	def(&s.AgentPoll, 2*time.Second)
	wait := map[node.Family]time.Duration{}
	for _, f := range node.Families {
		wait[f] = cmp.Or(s.AgentWait[f], 30*time.Minute)
	}
	s.AgentWait = wait
	def(&s.TellAfter, 5*time.Second)
	return s
}
