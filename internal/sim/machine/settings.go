package machine

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"go.temper.dev/temper/internal/sim/faults"
)

// Attributes are BIOS attributes by name; a value is a string, a bool or a
// float64 (a JSON number).
type Attributes map[string]any

// AttributeSpec says what a BIOS attribute can be.
type AttributeSpec struct {
	Default  any
	Allowed  []string // of an enumeration
	Min, Max int      // of a number
	ReadOnly bool
}

// AttributeSpecs has the BIOS attributes of all servers.
var AttributeSpecs = map[string]AttributeSpec{
	"BootMode":           {Default: "Uefi", Allowed: []string{"Uefi", "Bios"}},
	"SecureBoot":         {Default: "Disabled", Allowed: onOff},
	"LogicalProc":        {Default: "Enabled", Allowed: onOff},
	"ProcVirtualization": {Default: "Enabled", Allowed: onOff},
	"ProcTurboMode":      {Default: "Enabled", Allowed: onOff},
	"SriovGlobalEnable":  {Default: "Disabled", Allowed: onOff},
	"SysProfile":         {Default: "PerfPerWatt", Allowed: []string{"PerfPerWatt", "PerfOptimized", "DenseCfgOptimized", "Custom"}},
	"NumaNodesPerSocket": {Default: 1.0, Min: 1, Max: 4},
	"QuietBoot":          {Default: true},
	"SystemModelName":    {Default: "Simulated", ReadOnly: true},
}

var onOff = []string{"Enabled", "Disabled"}

// defaults returns the BIOS attributes of a new server.
func defaults() Attributes {
	all := Attributes{}
	for name, spec := range AttributeSpecs {
		all[name] = spec.Default
	}
	return all
}

// takes reports whether the attribute can have the value, which has its type.
func (a AttributeSpec) takes(v any) bool {
	switch v := v.(type) {
	case string:
		return a.Allowed == nil || slices.Contains(a.Allowed, v)
	case float64:
		return a.Max == 0 || v >= float64(a.Min) && v <= float64(a.Max)
	}
	return true
}

// Settings are the BIOS attributes, the pending ones that the next boot applies, the
// identification light and the BMC's own settings.
type Settings struct {
	BIOS    Attributes `json:"bios"`
	Pending Attributes `json:"pending,omitempty"`
	LED     string     `json:"led"` // Off, Lit, Blinking
	// Lights are the drives whose light is on, by their index.
	Lights map[int]bool `json:"lights,omitempty"`
	// SessionSeconds is the BMC's SessionTimeout, 0 if nobody has changed it.
	SessionSeconds int `json:"session_seconds,omitempty"`
}

// LEDs are the states of the identification light.
var LEDs = []string{"Lit", "Blinking", "Off"}

func newSettings() Settings { return Settings{BIOS: defaults(), LED: "Off"} }

// applyPending has a boot apply the pending BIOS settings.
func (s *Server) applyPending() {
	if s.settings.Pending == nil {
		return
	}
	if _, ignores := s.Faults.Trigger(faults.IgnoredBIOS, faults.Event{}); !ignores {
		maps.Copy(s.settings.BIOS, s.settings.Pending)
	}
	s.settings.Pending = nil
}

// Settings returns a copy of the settings.
func (s *Server) Settings() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.clone()
}

func (s Settings) clone() Settings {
	s.BIOS, s.Pending, s.Lights = maps.Clone(s.BIOS), maps.Clone(s.Pending), maps.Clone(s.Lights)
	return s
}

// Errors of SetBIOS.
var (
	// ErrAttribute: no such attribute.
	ErrAttribute = errors.New("unknown BIOS attribute")
	// ErrAttributeType: the value is not of the attribute's type.
	ErrAttributeType = errors.New("wrong type for a BIOS attribute")
	// ErrAttributeValue: the attribute can't have the value.
	ErrAttributeValue = errors.New("wrong value for a BIOS attribute")
	// ErrAttributeReadOnly: nobody can set the attribute.
	ErrAttributeReadOnly = errors.New("read-only BIOS attribute")
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
		switch spec, known := AttributeSpecs[k]; {
		case known && spec.ReadOnly:
			return k, ErrAttributeReadOnly
		case known && !spec.takes(v):
			return k, ErrAttributeValue
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

// SetLight switches the light of a drive.
func (s *Server) SetLight(drive int, on bool) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings.Lights == nil {
		s.settings.Lights = map[int]bool{}
	}
	s.settings.Lights[drive] = on
}

// SetLED sets the identification light.
func (s *Server) SetLED(v string) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.LED = v
}
