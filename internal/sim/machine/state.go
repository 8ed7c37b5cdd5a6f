package machine

import (
	"go.temper.dev/temper/internal/sim/disk"
)

// State is all of a server that outlives the process. Agents' tokens are in
// it: whoever stores it keeps it to itself.
type State struct {
	Power    Power        `json:"power"`
	Boot     Boot         `json:"boot"`
	Booting  Source       `json:"booting,omitempty"`
	Booted   Source       `json:"booted,omitempty"`
	BootNo   int          `json:"boot_no"`
	Memory   *AgentMemory `json:"memory,omitempty"`
	Media    Media        `json:"media"`
	Settings Settings     `json:"settings"`
	Volumes  []Volume     `json:"volumes,omitempty"`
	NextID   int          `json:"next_id"`
	BadLogin int          `json:"bad_login"`
	Disk     disk.State   `json:"disk"`

	Counts   Counts         `json:"counts"`
	Powers   []PowerAction  `json:"powers,omitempty"`
	Commands []AgentCommand `json:"commands,omitempty"`
}

// State is a copy of the server's.
func (s *Server) State() State {
	onDisk, powers, commands := s.Disk.State(), s.PowerActions(), s.AgentCommands()
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{
		Power: s.power, Boot: s.boot, Booting: s.booting, Booted: s.booted, BootNo: s.bootNo, Memory: s.memory,
		Media: s.media, Settings: s.settings.clone(), Volumes: append([]Volume(nil), s.volumes...),
		NextID: s.nextID, BadLogin: s.badLogin, Disk: onDisk,
		Counts: s.Counts(), Powers: powers, Commands: commands,
	}
}

// Restore takes over the state of an earlier process before the server is
// used. What was under way then is brought to its end: a power change starts
// over, and so does a boot; an agent that was up goes on with its memory.
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
	s.media, s.volumes, s.nextID, s.badLogin = st.Media, st.Volumes, st.NextID, st.BadLogin
	if st.Settings.BIOS != nil {
		s.settings = st.Settings
	}
	switch {
	case s.power == PoweringOn:
		s.change(PoweringOn, On, s.env.PowerDelay)
	case s.power == PoweringOff:
		s.change(PoweringOff, Off, s.env.PowerDelay)
	case s.power == On && st.Booting != None:
		s.load(st.Booting, 0)
	case s.power == On && s.booted.ramdisk():
		s.runAgent(s.memory)
	}
}

// BadLogins is how many times the BMC refused a password.
func (s *Server) BadLogins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.badLogin
}
