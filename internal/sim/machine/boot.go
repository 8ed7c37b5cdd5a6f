package machine

import (
	"context"
	"encoding/json"
	"time"

	"go.temper.dev/temper/internal/sim/mischief"
)

// Source is what a server boots or has booted from.
type Source string

// Boot sources. None is also "nothing bootable".
const (
	None    Source = ""
	Disk    Source = "disk"
	CD      Source = "cd"
	Network Source = "network"
)

func (s Source) ramdisk() bool { return s == CD || s == Network }

// Boot is the boot override, in Redfish's words.
type Boot struct {
	Target  string `json:"target"`  // BootTargets
	Enabled string `json:"enabled"` // BootEnables
	Mode    string `json:"mode"`    // BootModes
}

// What the BMC takes (AllowableValues), and the state without an override.
var (
	BootTargets = []string{"None", "Pxe", "Cd", "Hdd", "BiosSetup"}
	BootEnables = []string{"Disabled", "Once", "Continuous"}
	BootModes   = []string{"UEFI", "Legacy"}
	NoOverride  = Boot{Target: "None", Enabled: "Disabled", Mode: "UEFI"}
)

// BootOverride reads the override.
func (s *Server) BootOverride() Boot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boot
}

// SetBootOverride writes it; b is checked by the caller.
func (s *Server) SetBootOverride(b Boot) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boot = b
}

// post is the firmware's start: pending settings become real, the override is
// read, and used up if it is for once. extra is time before it begins.
func (s *Server) post(extra time.Duration) {
	s.settings.apply()
	source := s.source()
	if s.boot.Enabled == "Once" {
		s.boot.Target, s.boot.Enabled = NoOverride.Target, NoOverride.Enabled
	}
	s.load(source, extra)
}

// source follows the override where there is something behind it, else the
// firmware's own order, in which only the disk stands.
func (s *Server) source() Source {
	target := s.boot.Target
	if s.boot.Enabled == "Disabled" {
		target = "None"
	}
	switch {
	case target == "BiosSetup":
		return None
	case target == "Cd" && s.media.Inserted:
		return CD
	case target == "Pxe" && s.env.PXE:
		return Network
	case s.Disk.State().Image != nil:
		return Disk
	}
	return None
}

func (s *Server) load(source Source, extra time.Duration) {
	s.booting = source
	if source == None {
		return
	}
	turn := s.turn
	time.AfterFunc(extra+s.env.BootDelay, func() { s.up(turn) })
}

// up is the end of a boot: what was loaded runs.
func (s *Server) up(turn uint64) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != turn {
		return
	}
	s.booted, s.booting = s.booting, None
	if !s.booted.ramdisk() {
		return
	}
	s.bootNo++
	if _, none := s.Faults.Take(mischief.NoAgent, mischief.Event{}); !none {
		s.agentBoots.Add(1)
		s.runAgent(nil)
	}
}

func (s *Server) runAgent(saved *AgentMemory) {
	if s.env.RunAgent == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background()) // ended by halt
	s.stop = stop
	boot := s.bootNo
	s.agents.Go(func() { s.env.RunAgent(ctx, s, boot, saved) })
}

// AgentMemory is what an agent that is up knows. It is kept so that a
// restarted rack goes on as if the servers had not noticed.
type AgentMemory struct {
	Node             string            `json:"node"`
	Token            string            `json:"token"`
	HeartbeatTimeout int               `json:"heartbeat_timeout"`
	MD5              bool              `json:"md5"`
	Formats          []string          `json:"formats,omitempty"`
	Results          []json.RawMessage `json:"results"` // finished commands, oldest first
}

// Remember keeps the memory of the agent of that boot.
func (s *Server) Remember(boot int, m *AgentMemory) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if boot == s.bootNo && s.booted.ramdisk() {
		s.memory = m
	}
}
