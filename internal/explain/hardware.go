package explain

import (
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// silence explains a BMC that gives no answer, to whoever asks it.
func (v *view) silence() {
	n, s := v.n, v.n.SilentBMC()
	if s == nil {
		return
	}
	c := conductor(v.f.Fleet, s.AskedBy)
	asking := s.Asking && s.NextAt.After(v.f.Now) && (c == nil || c.Alive)
	p := finding.Params{"conductor": node.ConductorWords(s.AskedBy), "asks": "asked it last, at " + v.clock(s.AskedAt)}
	if asking {
		p["asks"] = "is asking it now, since " + v.clock(s.AskedAt)
	}
	if v.o != nil && v.o.LiveWait().Silent() { // its story says since when and why
		p["is"] = "is silent"
	} else {
		p["since"] = v.clock(*silentSince(n, v.o))
		if err := finding.Clean(s.Seen); v.Cause != fault.BMCSilent && !v.found(err) { // otherwise a finding has the error
			p["error"] = err
		}
	}
	switch {
	case asking:
	case s.NextAt.After(v.f.Now):
		p["again"] = "it is asked again about " + v.clock(s.NextAt)
	default:
		p["again"] = "it is due to be asked again"
	}
	v.find(finding.BMCSilent, p)
	if v.Cause == "" {
		v.Cause = fault.BMCSilent
	}
}

// health says that the health of the node is critical, and whether it is offered nevertheless.
func (v *view) health() {
	h := v.f.Health
	if h.Status != node.HealthCritical {
		return
	}
	p := finding.Params{"since": since(h.Since), "reasons": finding.HealthReasons(h.Reasons)}
	switch {
	case v.n.ProvisionState != node.Available:
	case v.f.Withheld:
		p["offered"] = "It is offered to nobody until its BMC says something better (unhealthy_nodes)"
	default:
		p["offered"] = "It is offered all the same (unhealthy_nodes)"
	}
	v.find(finding.HealthCritical, p, help.Action{Do: fault.ShowHealth})
	if v.Cause == "" {
		v.Cause, v.advises = fault.HardwareUnhealthy, true
	}
}

// hardware notes that the last inspection found other hardware than the one before, or than most nodes of the resource class have.
func (v *view) hardware() {
	c := v.f.Hardware
	if c == nil {
		return
	}
	var found []string
	if changes := len(c.Changes.List) + c.Changes.More; changes > 0 {
		found = append(found, fmt.Sprintf("other hardware than the one before (%s)", text.Count(changes, "difference", "differences")))
	}
	if len(c.Differences) > 0 {
		names := make([]string, len(c.Differences))
		for i, d := range c.Differences {
			names[i] = d.Fact
		}
		found = append(found, fmt.Sprintf("other hardware than most nodes of class %s have (%s)", c.ResourceClass, text.Some(names[:min(len(names), maxNamed)], len(names))))
	}
	if found == nil {
		return
	}
	v.find(finding.HardwareDiffers, finding.Params{"at": text.Moment(c.CollectedAt), "differences": strings.Join(found, ", and ")}, help.Action{Do: fault.ShowInventory})
}

// console notes why clients can't use the serial console of the node although it is enabled. It keeps nothing else from going on.
func (v *view) console() {
	n, c := v.n, v.f.Console
	show := help.Action{Do: fault.ShowConsole}
	switch {
	case !n.ConsoleEnabled || n.Implementation("console").Console == "":
	case c.Error != "":
		p := finding.Params{"at": v.clock(*c.ErrorAt), "error": finding.Clean(c.Error)}
		if c.NextAt != nil && c.NextAt.After(v.f.Now) {
			p["again"] = "it is tried again about " + v.clock(*c.NextAt)
		} else if c.Address != "" {
			p["again"] = "it is tried again with the next client"
		}
		v.find(finding.ConsoleFailed, p, show)
	case c.Address == "":
		v.find(finding.ConsoleUnheld, nil, show)
	}
}
