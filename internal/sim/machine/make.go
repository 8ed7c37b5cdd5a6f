package machine

import "cmp"

// Make is what all servers of one maker and model have in common. A field that is empty has
// its default.
type Make struct {
	Persona      string // name of the persona that the BMC answers as. Defaults to generic
	Manufacturer string // defaults to Simulated Systems
	Model        string // defaults to one of the rack's own models
	BIOSVersion  string
	BMCVersion   string
	CDTarget     string // boot target that boots the virtual CD. Defaults to Cd
	AnyCD        bool   // each virtual CD boots, with Cd and with UsbCd, because nobody knows which of them does
	MaxSessions  int    // of the BMC, if it is lower than the rack's
	GPUs         int    // at least
	SlowEject    bool   // an ejected medium is shown for the power delay, and no other can be inserted
}

// apply changes h to hardware of this make.
func (m Make) apply(h *Hardware) {
	h.Manufacturer = cmp.Or(m.Manufacturer, h.Manufacturer)
	h.Model = cmp.Or(m.Model, h.Model)
	h.BIOSVersion = cmp.Or(m.BIOSVersion, h.BIOSVersion)
	h.BMCVersion = cmp.Or(m.BMCVersion, h.BMCVersion)
	h.addGPUs(m.GPUs)
}

// maxSessions returns how many sessions the BMC allows at a time.
func (s *Server) maxSessions() int {
	if s.make.MaxSessions > 0 {
		return min(s.make.MaxSessions, s.env.MaxSessions)
	}
	return s.env.MaxSessions
}

// Persona returns the name of the persona that the BMC answers as.
func (s *Server) Persona() string { return s.make.Persona }

// bootsCD reports whether the boot target boots the virtual CD in this slot.
func (m Make) bootsCD(target, slot string) bool {
	if m.AnyCD {
		return target == "Cd" || target == "UsbCd"
	}
	return target == m.CDTarget && slot == ""
}
