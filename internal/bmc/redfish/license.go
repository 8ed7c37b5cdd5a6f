package redfish

import "strings"

// licenses are what vendors sell virtual media with, as their documentation says it. A BMC without it lists the drive, and refuses the
// medium.
var licenses = []struct{ maker, license string }{
	{"dell", "iDRAC Enterprise or Datacenter"},
	{"fujitsu", "iRMC Advanced Pack"},
	{"fsas", "iRMC Advanced Pack"},
	{"hpe", "iLO Advanced"},
	{"hewlett", "iLO Advanced"},
	{"lenovo", "XCC Enterprise, XCC2 or XCC3 Platinum"},
	{"supermicro", "SFT-OOB-LIC or SFT-DCMS-SINGLE"},
	{"super micro", "SFT-OOB-LIC or SFT-DCMS-SINGLE"},
}

// License names the license that the BMC needs for virtual media; "" where none is known of.
func (p *Probe) License() string {
	for _, says := range []string{p.Vendor, p.Manufacturer} {
		for _, l := range licenses {
			if strings.HasPrefix(strings.ToLower(says), l.maker) {
				return l.license
			}
		}
	}
	return ""
}

// mediaOperation is the finding on virtual media.
const mediaOperation = "insert virtual media"

// Media reports whether the BMC has a virtual drive for the medium that boots the agent, and what it says about it or why not.
func (p *Probe) Media() (words string, works bool) {
	for _, f := range p.Findings {
		if f.Operation == mediaOperation {
			return f.Words, f.Works
		}
	}
	return "not known without a login", false
}
