package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// maxNamed bounds how many conductors and groups are named.
const maxNamed = 5

// coverage says why no conductor can work on the node, if none can.
func (v *view) coverage() {
	n, f := v.n, v.f
	if away := f.System.Away(); away != "" && n.Operation == nil {
		v.find(finding.PartAway, finding.Params{"sentence": away})
	}
	p := finding.Params{}
	if q := n.Quarantine; q != nil && !q.Since.IsZero() {
		from := q.Since
		if from.Before(n.CreatedAt) { // its group and driver had lost their conductor before
			from = n.CreatedAt
		}
		p["since"] = since(&from)
	}
	if f.Covered {
		if n.Quarantine != nil {
			p["hold"] = node.FlapHold
			v.find(finding.Flapping, p)
		}
		return
	}
	p["driver"], p["group"] = n.Driver, node.GroupWords(n.ConductorGroup)
	v.find(finding.Uncovered, p, Cover(n, f.Fleet, f.System.Settings)...)
	known := []string{"none"}
	for i, c := range byFit(n, f.Fleet)[:min(len(f.Fleet), maxNamed)] {
		known = append(known[:i], conductorWords(c, f.Now))
	}
	if more := len(f.Fleet) - len(known); len(f.Fleet) > 0 && more > 0 {
		known = append(known, fmt.Sprintf("and %d more", more))
	}
	v.find(finding.KnownConductors, finding.Params{"conductors": strings.Join(known, "; ")})
}

// conductorWords says whether a conductor is alive, and which nodes it is for.
func conductorWords(c coverage.Conductor, now time.Time) string {
	has := "no driver"
	if drivers := driversOf(c); len(drivers) > 0 {
		has = "with driver " + strings.Join(drivers, ", ")
	}
	return fmt.Sprintf("%s (%s, %s, in %s, last heartbeat %s ago)", c.Hostname, c.State(), has, node.GroupWords(c.Group), text.Duration(text.Ago(now, c.HeartbeatAt)))
}

// driversOf returns the conductor's drivers, sorted.
func driversOf(c coverage.Conductor) []string { return slices.Sorted(slices.Values(c.Drivers())) }

// byFit returns the conductors in the order of how much of what n needs they have.
func byFit(n *node.Node, fleet []coverage.Conductor) []coverage.Conductor {
	misses := func(c coverage.Conductor) (m int) {
		if c.Group != n.ConductorGroup {
			m += 4
		}
		if _, has := c.Interfaces[n.Driver]; !has {
			m += 2
		}
		if !c.TakesWork() {
			m++
		}
		return m
	}
	out := slices.Clone(fleet)
	slices.SortStableFunc(out, func(a, b coverage.Conductor) int { return misses(a) - misses(b) })
	return out
}

// Cover returns what finds a conductor for n, which none covers. settings is the file with the settings of a conductor that is started;
// "" = not known.
func Cover(n *node.Node, fleet []coverage.Conductor, settings string) []help.Action {
	out := []help.Action{{Do: fault.ListConductors}, Starts(n, fleet, settings)}
	if o := n.Operation; o == nil || !alive(fleet, o.Conductor) {
		for _, g := range otherGroups(n, fleet) {
			out = append(out, help.Action{Do: fault.ChangeGroup, Group: g})
		}
	}
	return out
}

// Starts returns the action that starts a conductor for n: the dead one that would cover n and ran last, else a new one. The help of
// the part "conductors" names the same one.
func Starts(n *node.Node, fleet []coverage.Conductor, settings string) help.Action {
	out, latest := help.Action{Do: fault.StartConductor, Group: n.ConductorGroup, Drivers: n.Driver, Settings: settings}, time.Time{}
	for _, c := range fleet {
		if !c.Alive && c.HeartbeatAt.After(latest) && c.Covers(n.ConductorGroup, n.Driver, n.Interfaces) {
			out, latest = startsAgain(c, settings), c.HeartbeatAt
		}
	}
	return out
}

// startsAgain returns the action that starts a conductor that does not run, as it ran before.
func startsAgain(c coverage.Conductor, settings string) help.Action {
	return help.Action{Do: fault.StartConductor, Conductor: c.Hostname, Group: c.Group, Drivers: strings.Join(driversOf(c), ","), Settings: settings}
}

// OfConductor returns what somebody can do about a conductor that does not run; none if it does. settings is as in Cover.
func OfConductor(c coverage.Conductor, settings string) []help.Action {
	if c.Alive {
		return nil
	}
	return []help.Action{startsAgain(c, settings), {Do: fault.ForgetConductor, Conductor: c.Hostname}}
}

// otherGroups returns, sorted, at most maxNamed other groups with a conductor that could
// work on n.
func otherGroups(n *node.Node, fleet []coverage.Conductor) []string {
	var out []string
	for _, c := range fleet {
		if c.TakesWork() && c.Group != n.ConductorGroup && c.Covers(c.Group, n.Driver, n.Interfaces) && !slices.Contains(out, c.Group) {
			out = append(out, c.Group)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxNamed)]
}

func alive(fleet []coverage.Conductor, host string) bool {
	c := conductor(fleet, host)
	return c != nil && c.Alive
}

// conductor returns the conductor of that name; nil = it is not there.
func conductor(fleet []coverage.Conductor, host string) *coverage.Conductor {
	if i := slices.IndexFunc(fleet, func(c coverage.Conductor) bool { return c.Hostname == host }); i >= 0 && host != "" {
		return &fleet[i]
	}
	return nil
}
