// Package activities does what workflows decide: every exported method that
// takes a context is one activity, looks before it acts, and may run twice. It
// never decides what comes next, and never reaches PostgreSQL or a BMC library
// itself: package worker hands in the real ones.
package activities

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/node"
)

// Records are the writes of steps. Each is fenced by operation and claim; a
// claim that is not the newest is fault.Lost.
type Records interface {
	Claim(ctx context.Context, operation int64, runID string, c node.Claim, conductor string) (*node.Node, error)
	CheckClaim(ctx context.Context, operation int64, c node.Claim) (node.Ask, error)
	SaveSteps(ctx context.Context, operation int64, c node.Claim, p node.Progress) (node.Ask, error)
	PutDown(ctx context.Context, operation int64, c node.Claim) error
	SaveInspection(ctx context.Context, operation int64, c node.Claim, i node.Inspection) error
	Credentials(ctx context.Context, nodeUUID string) (node.Secrets, error)
	Node(ctx context.Context, ident string) (*node.Node, error)
	AgentToken(ctx context.Context, nodeUUID string) (string, error)
	NodePorts(ctx context.Context, nodeUUID string) ([]node.Port, error)
	Covering(ctx context.Context, group, driver string, interfaces map[string]string) ([]node.Host, error)
	Inventory(ctx context.Context, nodeUUID string) (inventory, plugin map[string]any, err error)
}

// Settings of the steps.
type Settings struct {
	Conductor        string         // this conductor's name
	HeartbeatTimeout time.Duration  // Temporal's, of a step; requests to hardware are shorter
	PowerTimeout     time.Duration  // until a power change must be seen
	SoftPowerTimeout time.Duration  // until a soft power off must be seen, where the request names none
	PowerSettle      time.Duration  // how long a request that somebody recorded before is given to show before it is sent again
	PowerPoll        time.Duration  // at the most between two looks at the power state
	AgentPoll        time.Duration  // at the most between two looks at an agent's command
	DeployWait       time.Duration  // deploy_callback_timeout
	CleanWait        time.Duration  // clean_callback_timeout
	InspectWait      time.Duration  // inspect_callback_timeout
	StepLimits       map[string]int // how often a step may fail, by "interface.step"; others StepLimit
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
	def(&s.PowerTimeout, time.Minute)
	def(&s.SoftPowerTimeout, 10*time.Minute)
	def(&s.PowerSettle, 5*time.Second)
	def(&s.PowerPoll, time.Second)
	def(&s.AgentPoll, 2*time.Second)
	def(&s.DeployWait, 30*time.Minute)
	def(&s.CleanWait, 30*time.Minute)
	def(&s.InspectWait, 30*time.Minute)
	return s
}
