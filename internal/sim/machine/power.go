package machine

import (
	"errors"
	"time"

	"go.temper.dev/temper/internal/sim/mischief"
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

// ResetType is a Redfish ResetType, or what the agent does to its own machine.
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

// ResetTypes is what the BMC takes (AllowableValues).
var ResetTypes = []ResetType{ResetOn, ResetForceOff, ResetGracefulShutdown, ResetForceRestart, ResetNMI}

// Errors of a reset.
var (
	// ErrBusy: a power change is under way; ask again.
	ErrBusy = errors.New("a power change is under way")
	// ErrPoweredOff: the request needs a running server.
	ErrPoweredOff = errors.New("the server is powered off")
)

// resetRequest is what faults see of a reset.
var resetRequest = mischief.Event{Method: "POST", Path: "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"}

// Reset is one request to the BMC. It answers at once; the power state passes
// through PoweringOn or PoweringOff. What is already so is no error and has no
// effect. Every request is in the journal, those without effect as well.
func (s *Server) Reset(t ResetType) error {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.power
	if _, lost := s.Faults.Take(mischief.LostPower, resetRequest); lost {
		s.recordPower(t, from, from, false)
		return nil
	}
	d := s.env.PowerDelay
	if f, slow := s.Faults.Take(mischief.SlowPower, resetRequest); slow {
		d = time.Duration(f.Delay)
	}
	to, effect, err := s.reset(t, d)
	s.recordPower(t, from, to, effect)
	return err
}

func (s *Server) reset(t ResetType, d time.Duration) (to Power, effect bool, err error) {
	switch t {
	case ResetOn:
		switch s.power {
		case Off:
			s.change(PoweringOn, On, d)
			return On, true, nil
		case PoweringOff:
			return s.power, false, ErrBusy
		}
	case ResetForceOff, ResetGracefulShutdown:
		if s.power == On || s.power == PoweringOn {
			s.change(PoweringOff, Off, d)
			return Off, true, nil
		}
	case ResetForceRestart:
		switch s.power {
		case On:
			s.halt()
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

// change starts a power change that takes d. What runs stops at its beginning.
func (s *Server) change(via, to Power, d time.Duration) {
	s.halt()
	s.power = via
	turn := s.turn
	time.AfterFunc(d, func() { s.settle(turn, to) })
}

func (s *Server) settle(turn uint64, to Power) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != turn {
		return
	}
	s.power = to
	if to == On {
		s.post(0)
	}
}

// halt ends what runs on the server and begins a new turn.
func (s *Server) halt() {
	s.turn++
	s.booting, s.booted, s.memory = None, None, nil
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// AgentPowersOff is the ramdisk of that boot switching its own machine off;
// AgentReboots, restarting it. An older ramdisk does nothing: it is not there
// any more.
func (s *Server) AgentPowersOff(boot int) { s.byAgent(byAgentOff, ResetForceOff, boot) }

// AgentReboots is the ramdisk of that boot restarting its machine.
func (s *Server) AgentReboots(boot int) { s.byAgent(byAgentReboot, ResetForceRestart, boot) }

// AgentStartsAnew is the machine under the ramdisk of that boot restarting by itself, into what it had booted.
func (s *Server) AgentStartsAnew(boot int) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if boot != s.bootNo || !s.booted.ramdisk() {
		return
	}
	source := s.booted
	s.halt()
	s.recordPower(byAgentReboot, On, On, true)
	s.load(source, s.env.PowerDelay)
}

func (s *Server) byAgent(name, as ResetType, boot int) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if boot != s.bootNo || !s.booted.ramdisk() {
		return
	}
	from := s.power
	to, effect, _ := s.reset(as, s.env.PowerDelay) // a booted server is on: neither busy nor off
	s.recordPower(name, from, to, effect)
}
