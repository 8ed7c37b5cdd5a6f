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
	BIOSTimeout      time.Duration                 // how long BIOS settings may take to show after the server was switched on
	BIOSSettle       time.Duration                 // how long they may take when the agent has called after that boot
	BIOSBoot         time.Duration                 // how long the firmware of a server without an agent may take to test the hardware, where the BMC does not show that
	BIOSPoll         time.Duration                 // longest pause between two reads of them
	FirmwareTimeout  time.Duration                 // how long the task of an update of firmware may take
	FirmwareStart    time.Duration                 // how long it may wait before the server is booted for it
	FirmwareSettle   time.Duration                 // how long the new version may take to show when the task has ended
	FirmwarePoll     time.Duration                 // longest pause between two looks
	AgentPoll        time.Duration                 // longest pause between two reads of the agent's commands
	AgentWait        map[node.Family]time.Duration // how long to wait for the agent's call after boot: deploy_callback_timeout, ...
	TellEvery        time.Duration                 // how often at most a step that waits writes what it waits for; a step that is over before writes nothing
	ReportAfter      time.Duration                 // how long a step runs before the workflow is told which step it is
	PCIAliases       map[string]string             // the capability that counts devices, by "vendor:product"
	StepLimits       map[string]int                // how often a step may fail, by "interface.step"; others StepLimit
	ConductorBeat    time.Duration                 // between two heartbeats of a conductor
	DeathWithin      time.Duration                 // a conductor that dies within this time of taking a step up may have died of the step
	DeathPause       time.Duration                 // how long the first attempt after such deaths is delayed
	Agent            agent.Settings
	Erasing          Erasing        // how agents erase disks
	Boot             node.BootSites // where servers boot the agent from CDs that Temper makes
}

// Erasing says how agents erase disks. The zero value is Ironic's default.
type Erasing struct {
	NoATA     bool // disks are not asked for ATA's secure erase
	NoNVMe    bool // nor for NVMe's format and sanitize
	Overwrite bool // a disk that should erase itself and can't is overwritten, instead of failing the step
}

// internal returns the settings as Ironic's conductors write them into driver_internal_info for agents (conductor/cleaning.py,
// agent_add_clean_params).
func (e Erasing) internal() map[string]any {
	return map[string]any{
		"agent_enable_ata_secure_erase": !e.NoATA, "agent_enable_nvme_secure_erase": !e.NoNVMe,
		"agent_continue_if_secure_erase_failed": e.Overwrite, "agent_continue_if_ata_erase_failed": e.Overwrite,
	}
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
	setDefault(&s.BIOSTimeout, 20*time.Minute)
	setDefault(&s.BIOSSettle, 2*time.Minute)
	setDefault(&s.BIOSBoot, 10*time.Minute)
	setDefault(&s.BIOSPoll, 10*time.Second)
	setDefault(&s.FirmwareTimeout, time.Hour)
	setDefault(&s.FirmwareStart, time.Minute)
	setDefault(&s.FirmwareSettle, 10*time.Minute)
	setDefault(&s.FirmwarePoll, 10*time.Second)
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
