package machine

import (
	"slices"

	"go.temper.dev/temper/internal/sim/disk"
)

// State is everything of a server that survives a restart of the process. It contains the
// agent's token and the BMC's passwords, so nobody else may read it.
type State struct {
	Power    Power        `json:"power"`
	Boot     Boot         `json:"boot"`
	Booting  Source       `json:"booting,omitempty"`
	Booted   Source       `json:"booted,omitempty"`
	BootNo   int          `json:"boot_no"`
	Memory   *AgentMemory `json:"memory,omitempty"`
	Media    Media        `json:"media"`
	Settings Settings     `json:"settings"`
	Firmware firmware     `json:"firmware"`
	Volumes  []Volume     `json:"volumes,omitempty"`
	NextID   int          `json:"next_id"`
	BadLogin int          `json:"bad_login"`
	Disk     disk.State   `json:"disk"`
	Accounts []Account    `json:"accounts,omitempty"`

	Counts   Counts         `json:"counts"`
	Powers   []PowerAction  `json:"powers,omitempty"`
	Commands []AgentCommand `json:"commands,omitempty"`
}

// State returns a copy of the server's state.
func (s *Server) State() State {
	onDisk, powers, commands := s.Disk.State(), s.PowerActions(), s.AgentCommands()
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{
		Power: s.power, Boot: s.boot, Booting: s.booting, Booted: s.booted, BootNo: s.bootNo, Memory: s.memory,
		Media: s.media, Settings: s.settings.clone(), Firmware: s.firmware.clone(), Volumes: append([]Volume(nil), s.volumes...),
		NextID: s.nextID, BadLogin: s.badLogin, Disk: onDisk, Accounts: slices.Clone(s.accounts),
		Counts: s.Counts(), Powers: powers, Commands: commands,
	}
}

// Restore sets the state that an earlier process saved. It must be called before the server
// is used. A power change or boot that was under way starts again, and an agent that was up
// continues with its memory. A real machine that was on boots again, as after a power failure.
func (s *Server) Restore(st State) {
	s.Disk.Restore(st.Disk)
	s.agentBoots.Store(st.Counts.AgentBoots)
	s.lookups.Store(st.Counts.Lookups)
	s.heartbeats.Store(st.Counts.Heartbeats)
	s.requests.Store(st.Counts.Requests)
	s.powers, s.commands = st.Powers, st.Commands

	s.mu.Lock()
	defer s.mu.Unlock()
	s.power, s.boot, s.booted, s.bootNo, s.memory = st.Power, st.Boot, st.Booted, st.BootNo, st.Memory
	s.media, s.volumes, s.nextID, s.badLogin, s.accounts = st.Media, st.Volumes, st.NextID, st.BadLogin, st.Accounts
	s.firmware = st.Firmware
	if st.Settings.BIOS != nil {
		s.settings = st.Settings
	}
	switch {
	case s.power == PoweringOn:
		s.startPowerChange(PoweringOn, On, s.env.PowerDelay)
	case s.power == PoweringOff:
		s.startPowerChange(PoweringOff, Off, s.env.PowerDelay)
	case s.power == On && s.env.Computer != nil:
		s.booted = None
		s.post(0) // its machine ended with the process that ran it
	case s.power == On && st.Booting != None:
		s.startBoot(st.Booting, 0)
	case s.power == On && s.booted.ramdisk():
		s.runAgent(s.memory)
	}
}

// BadLogins returns how often the BMC refused a password.
func (s *Server) BadLogins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.badLogin
}
