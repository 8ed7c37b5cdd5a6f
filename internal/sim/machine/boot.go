package machine

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"time"

	"go.temper.dev/temper/internal/sim/faults"
)

// Source is what a server boots from.
type Source string

// Boot sources. None also means that there is nothing to boot from.
const (
	None    Source = ""
	Disk    Source = "disk"
	CD      Source = "cd"
	Network Source = "network"
	// HTTPImage is an image that UEFI loads by HTTP.
	HTTPImage Source = "http image"
)

func (s Source) ramdisk() bool { return s == CD || s == Network || s == HTTPImage }

// Boot is the boot override, by Redfish's names.
type Boot struct {
	Target  string `json:"target"`  // BootTargets
	Enabled string `json:"enabled"` // BootEnables
	Mode    string `json:"mode"`    // BootModes
	// URI is what the firmware loads with the target UefiHttp (HttpBootUri); "" = DHCP says it.
	URI string `json:"uri,omitempty"`
}

// The values that the BMC accepts (AllowableValues), and the state without an override.
var (
	BootTargets = []string{"None", "Pxe", "Cd", "Hdd", "BiosSetup", "UefiHttp"}
	BootEnables = []string{"Disabled", "Once", "Continuous"}
	BootModes   = []string{"UEFI", "Legacy"}
	NoOverride  = Boot{Target: "None", Enabled: "Disabled", Mode: "UEFI"}
)

// BootOverride returns the override.
func (s *Server) BootOverride() Boot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boot
}

// InPOST reports whether the firmware's power-on self-test runs.
func (s *Server) InPOST() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.power == On && time.Now().Before(s.postEnds)
}

// Stuck reports whether the server is on and has not begun to boot (faults.NoBoot).
func (s *Server) Stuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.power == On && s.stuck
}

// SetBootOverride sets the override. The caller has checked b.
func (s *Server) SetBootOverride(b Boot) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.env.Computer != nil {
		b.Mode = s.env.Computer.Firmware().Mode
	}
	s.boot = b
}

// post is the firmware's power-on self-test: it applies pending BIOS settings, reads the
// boot override, removes a one-time one, and begins to boot. extra is a delay before that.
func (s *Server) post(extra time.Duration) {
	if _, s.stuck = s.Faults.Trigger(faults.NoBoot, faults.Event{}); s.stuck {
		s.Console.log("", "")
		return
	}
	s.applyPending()
	s.firmware.apply()
	if s.env.Computer != nil {
		maps.Copy(s.settings.BIOS, s.env.Computer.Firmware().attributes())
	}
	s.postEnds = time.Now().Add(extra + s.env.BootDelay)
	source := s.bootSource()
	s.loads, s.loaded = "", Media{}
	if source == HTTPImage {
		s.loads = s.boot.URI
	}
	s.Console.log("", "%s %s, serial number %s\r\nPower-on self-test", s.Manufacturer, s.Model, s.Serial)
	if s.boot.Enabled == "Once" {
		s.boot.Target, s.boot.Enabled = NoOverride.Target, NoOverride.Enabled
	}
	s.startBoot(source, extra)
}

// bootSource returns what the override says if that can be booted, else the disk, which is
// the only entry of the firmware's own boot order. Only the firmware of a real machine can
// find out whether its disk can be booted.
func (s *Server) bootSource() Source {
	target := s.boot.Target
	if s.boot.Enabled == "Disabled" {
		target = "None"
	}
	switch {
	case target == "BiosSetup":
		return None
	case s.make.bootsCD(target, s.media.Slot) && s.media.Inserted:
		return CD
	case target == "UefiHttp" && s.boot.URI != "" && s.env.Computer == nil:
		return HTTPImage
	case (target == "Pxe" || target == "UefiHttp") && s.env.PXE:
		return Network
	case s.env.Computer != nil, s.Disk.State().Image != nil:
		return Disk
	}
	return None
}

func (s *Server) startBoot(source Source, extra time.Duration) {
	s.booting = source
	if source == None {
		s.Console.log("Shell> ", "Nothing to boot from")
		return
	}
	s.Console.log("", "Booting from %s", source)
	turn := s.generation
	time.AfterFunc(extra+s.env.BootDelay, func() { s.finishBoot(turn) })
}

// finishBoot ends a boot: what was loaded runs, unless the power changed meanwhile.
func (s *Server) finishBoot(turn uint64) {
	image, failed := s.load()
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != turn {
		return
	}
	s.loaded = image
	if failed != nil {
		s.booting = None
		s.Console.log("Shell> ", "Nothing was loaded by HTTP: %v", failed)
		return
	}
	s.booted, s.booting = s.booting, None
	if s.env.Computer != nil {
		s.runMachine(s.booted)
		return
	}
	s.Console.log(s.Name+" login: ", "Booted from %s", s.booted)
	if !s.booted.ramdisk() {
		return
	}
	s.bootNo++
	if _, none := s.Faults.Trigger(faults.NoAgent, faults.Event{}); !none {
		s.agentBoots.Add(1)
		s.runAgent(nil)
	}
}

// load fetches the image that the firmware boots by HTTP, if it does.
func (s *Server) load() (Media, error) {
	s.mu.Lock()
	url := s.loads
	s.mu.Unlock()
	if url == "" {
		return Media{}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), mediaTimeout)
	defer cancel()
	return s.env.fetch(ctx, url, io.Discard)
}

// BootToken returns the agent's token on what the server has booted from, "" if there is none.
func (s *Server) BootToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.booted {
	case CD:
		return s.media.Token
	case HTTPImage:
		return s.loaded.Token
	}
	return ""
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

// AgentMemory is the memory of an agent that is up. It is saved so that after a restart of
// the rack's process the agent continues.
type AgentMemory struct {
	Node             string            `json:"node"`
	Token            string            `json:"token"`
	HeartbeatTimeout int               `json:"heartbeat_timeout"`
	MD5              bool              `json:"md5"`
	Formats          []string          `json:"formats,omitempty"`
	Results          []json.RawMessage `json:"results"` // finished commands, oldest first
}

// Remember saves the memory of the agent of that boot.
func (s *Server) Remember(boot int, m *AgentMemory) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if boot == s.bootNo && s.booted.ramdisk() {
		s.memory = m
	}
}
