package machine

import (
	"errors"
	"maps"
	"reflect"
)

// Attributes are BIOS attributes by name; a value is a string, a bool or a
// float64 (a JSON number).
type Attributes map[string]any

// defaults returns the BIOS attributes of a new server.
func defaults() Attributes {
	return Attributes{
		"BootMode": "Uefi", "SecureBoot": "Disabled", "LogicalProc": "Enabled", "ProcVirtualization": "Enabled",
		"ProcTurboMode": "Enabled", "SriovGlobalEnable": "Disabled", "SysProfile": "PerfPerWatt", "NumaNodesPerSocket": 1.0,
		"QuietBoot": true,
	}
}

// Settings are the BIOS attributes, the pending ones that the next boot applies, the
// identification light and the BMC's own settings.
type Settings struct {
	BIOS    Attributes `json:"bios"`
	Pending Attributes `json:"pending,omitempty"`
	LED     string     `json:"led"` // Off, Lit, Blinking
	// SessionSeconds is the BMC's SessionTimeout, 0 if nobody has changed it.
	SessionSeconds int `json:"session_seconds,omitempty"`
}

// LEDs are the states of the identification light.
var LEDs = []string{"Lit", "Blinking", "Off"}

func newSettings() Settings { return Settings{BIOS: defaults(), LED: "Off"} }

func (s *Settings) apply() {
	maps.Copy(s.BIOS, s.Pending)
	s.Pending = nil
}

// Settings returns a copy of the settings.
func (s *Server) Settings() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.clone()
}

func (s Settings) clone() Settings {
	s.BIOS, s.Pending = maps.Clone(s.BIOS), maps.Clone(s.Pending)
	return s
}

// Errors of SetBIOS.
var (
	// ErrAttribute: no such attribute.
	ErrAttribute = errors.New("unknown BIOS attribute")
	// ErrAttributeType: the value is not of the attribute's type.
	ErrAttributeType = errors.New("wrong type for a BIOS attribute")
)

// SetBIOS sets attributes for the next boot. If one of them is wrong, it returns its name
// and an error, and sets none.
func (s *Server) SetBIOS(a Attributes) (wrong string, err error) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range a {
		have, ok := s.settings.BIOS[k]
		if !ok {
			return k, ErrAttribute
		}
		if reflect.TypeOf(have) != reflect.TypeOf(v) {
			return k, ErrAttributeType
		}
	}
	if s.settings.Pending == nil {
		s.settings.Pending = Attributes{}
	}
	maps.Copy(s.settings.Pending, a)
	return "", nil
}

// ResetBIOS sets the defaults for the next boot.
func (s *Server) ResetBIOS() {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.Pending = defaults()
}

// SetLED sets the identification light.
func (s *Server) SetLED(v string) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.LED = v
}
