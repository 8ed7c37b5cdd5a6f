package conductor

import (
	"cmp"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/node"
)

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
	ReportAfter      time.Duration                 // how long a step runs before its workflow is told
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
	def(&s.ReportAfter, 5*time.Second)
	return s
}
