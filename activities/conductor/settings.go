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
	PowerTimeout     time.Duration                 // how long a power change may take
	SoftPowerTimeout time.Duration                 // how long a soft power off may take if the request gives no timeout
	BootTimeout      time.Duration                 // how long a server that is on may show no sign of booting, where signs can be seen; 0 = no limit
	BootTries        int                           // how often a server is switched on that shows none
	PowerSettle      time.Duration                 // how long the effect of a request recorded by an earlier attempt is waited for before it is sent again
	PowerPoll        time.Duration                 // longest pause between two reads of the power state
	BusyPatience     time.Duration                 // how long answers "later" are no failures of a step
	AwayTimeout      time.Duration                 // how long silence of a BMC is no failure of a step; 0 = it is one at once
	MediaTimeout     time.Duration                 // how long inserting a medium may take; shorter than an undo may take
	MediaPoll        time.Duration                 // longest pause between two reads of the virtual drive
	AgentPoll        time.Duration                 // longest pause between two reads of the agent's commands
	AgentWait        map[node.Family]time.Duration // how long to wait for the agent's call after boot: deploy_callback_timeout, ...
	TellEvery        time.Duration                 // how often at most a step that waits writes what it waits for; a step that is over before writes nothing
	ReportAfter      time.Duration                 // how long a step runs before the workflow is told which step it is
	StepLimits       map[string]int                // how often a step may fail, by "interface.step"; others StepLimit
	ConductorBeat    time.Duration                 // between two heartbeats of a conductor
	DeathWithin      time.Duration                 // a conductor that dies within this time of taking a step up may have died of the step
	DeathPause       time.Duration                 // how long the first attempt after such deaths is delayed
	Agent            agent.Settings
	Boot             node.BootSites // where servers boot the agent from CDs that Temper makes
}

// WithDefaults returns s with defaults for the fields that are zero.
func (s Settings) WithDefaults() Settings {
	setDefault := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	setDefault(&s.HeartbeatTimeout, 5*time.Second)
	setDefault(&s.ConductorBeat, 3*time.Second)
	setDefault(&s.DeathWithin, 10*time.Second)
	setDefault(&s.DeathPause, time.Minute)
	setDefault(&s.PowerTimeout, time.Minute)
	setDefault(&s.SoftPowerTimeout, 10*time.Minute)
	setDefault(&s.PowerSettle, 5*time.Second)
	setDefault(&s.PowerPoll, time.Second)
	setDefault(&s.BusyPatience, 10*time.Minute)
	setDefault(&s.MediaTimeout, 2*time.Minute)
	setDefault(&s.MediaPoll, 2*time.Second)
	setDefault(&s.AgentPoll, 2*time.Second)
	s.BootTries = cmp.Or(s.BootTries, 2)
	wait := map[node.Family]time.Duration{}
	for _, f := range node.Families {
		wait[f] = cmp.Or(s.AgentWait[f], 30*time.Minute)
	}
	s.AgentWait = wait
	setDefault(&s.ReportAfter, 5*time.Second)
	setDefault(&s.TellEvery, 5*time.Second)
	return s
}
