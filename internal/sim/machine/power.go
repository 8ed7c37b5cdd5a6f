package machine

import (
	"errors"
	"time"

	"go.temper.dev/temper/internal/sim/faults"
)

// Power is a Redfish PowerState (DSP2046).
type Power string

// Power states.
const (
	Off         Power = "Off"
	PoweringOn  Power = "PoweringOn"
	On          Power = "On"
	PoweringOff Power = "PoweringOff"
)

// ResetType is a Redfish ResetType, or a reset that the agent does itself.
type ResetType string

// Reset types.
const (
	ResetOn               ResetType = "On"
	ResetForceOff         ResetType = "ForceOff"
	ResetGracefulShutdown ResetType = "GracefulShutdown"
	ResetForceRestart     ResetType = "ForceRestart"
	ResetNMI              ResetType = "Nmi"

	byAgentOff    ResetType = "agent"
	byAgentReboot ResetType = "agent_reboot"
)

// ResetTypes are those that the BMC accepts (AllowableValues).
var ResetTypes = []ResetType{ResetOn, ResetForceOff, ResetGracefulShutdown, ResetForceRestart, ResetNMI}

// Errors of a reset.
var (
	// ErrBusy: a power change is under way. The client should try again.
	ErrBusy = errors.New("a power change is under way")
	// ErrPoweredOff: the server must be on for this request.
	ErrPoweredOff = errors.New("the server is powered off")
)

// resetRequest is the event of a reset, for faults.
var resetRequest = faults.Event{Method: "POST", Path: "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"}

// Reset is a request to the BMC. It returns at once, and the power state passes through
// PoweringOn or PoweringOff. A request for the current state is no error and has no effect.
// The journal has every request, also those without effect.
func (s *Server) Reset(t ResetType) error {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.power
	if _, lost := s.Faults.Trigger(faults.LostPower, resetRequest); lost {
		s.notePower(t, from, from, false)
		return nil
	}
	d := s.env.PowerDelay
	if f, slow := s.Faults.Trigger(faults.SlowPower, resetRequest); slow {
		d = time.Duration(f.Delay)
	}
	to, effect, err := s.reset(t, d)
	s.notePower(t, from, to, effect)
	return err
}

func (s *Server) reset(t ResetType, d time.Duration) (to Power, effect bool, err error) {
	switch t {
	case ResetOn:
		switch s.power {
		case Off:
			s.startPowerChange(PoweringOn, On, d)
			return On, true, nil
		case PoweringOff:
			return s.power, false, ErrBusy
		}
	case ResetForceOff, ResetGracefulShutdown:
		if t == ResetGracefulShutdown && s.env.Computer != nil && s.booted != None {
			s.pressButton()
			return Off, true, nil
		}
		if s.power == On || s.power == PoweringOn {
			s.startPowerChange(PoweringOff, Off, d)
			return Off, true, nil
		}
	case ResetForceRestart:
		switch s.power {
		case On:
			s.stopSoftware()
			s.post(d)
			return On, true, nil
		case PoweringOff:
			return s.power, false, ErrBusy
		case Off:
			return s.power, false, ErrPoweredOff
		}
	case ResetNMI:
		if s.power != On {
			return s.power, false, ErrPoweredOff
		}
		return On, true, nil
	}
	return s.power, false, nil
}

// JustSwitched reports whether the last change of power ended less than the power delay ago.
func (s *Server) JustSwitched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.lastPower) < s.env.PowerDelay
}

// startPowerChange starts a power change that takes d. What runs on the server stops at once.
func (s *Server) startPowerChange(via, to Power, d time.Duration) {
	s.stopSoftware()
	s.Console.log("", "%s", via)
	s.power = via
	turn, gone := s.generation, s.machineGone
	time.AfterFunc(d, func() {
		if gone != nil {
			<-gone // a server is off when its machine is
		}
		s.finishPowerChange(turn, to)
	})
}

func (s *Server) finishPowerChange(turn uint64, to Power) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != turn {
		return
	}
	s.power, s.lastPower = to, time.Now()
	if to == On {
		s.post(0)
	}
}

// stopSoftware stops what runs on the server, and raises the generation.
func (s *Server) stopSoftware() {
	s.generation++
	s.booting, s.booted, s.memory = None, None, nil
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// AgentPowersOff is called by the ramdisk of that boot when it switches its server off. A
// call by the ramdisk of an earlier boot does nothing.
func (s *Server) AgentPowersOff(boot int) { s.resetByAgent(byAgentOff, ResetForceOff, boot) }

// AgentReboots is the same when the ramdisk restarts its server.
func (s *Server) AgentReboots(boot int) { s.resetByAgent(byAgentReboot, ResetForceRestart, boot) }

// AgentRestarts restarts the server below the ramdisk of that boot, which then boots from
// the same source again.
func (s *Server) AgentRestarts(boot int) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if boot != s.bootNo || !s.booted.ramdisk() {
		return
	}
	source := s.booted
	s.stopSoftware()
	s.notePower(byAgentReboot, On, On, true)
	s.startBoot(source, s.env.PowerDelay)
}

func (s *Server) resetByAgent(name, as ResetType, boot int) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if boot != s.bootNo || !s.booted.ramdisk() {
		return
	}
	from := s.power
	to, effect, _ := s.reset(as, s.env.PowerDelay) // a booted server is on: neither busy nor off
	s.notePower(name, from, to, effect)
}
