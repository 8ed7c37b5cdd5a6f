// Package status says how the parts of Temper do, and what is broken. It reads only its arguments.
package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// The parts of Temper, in the order in which Parts returns them. The names are stable. A part that
// needs another one comes after it.
const (
	PartAPI            = "api"
	PartPostgreSQL     = "postgresql"
	PartTemporal       = "temporal"
	PartOrchestrators  = "orchestrators"
	PartConductors     = "conductors"
	PartReconciliation = "reconciliation"
	PartClocks         = "clocks"
	PartBoot           = "boot"
)

// Answer is how something answered that a process of Temper needs.
type Answer struct {
	Trouble string    // what is wrong with it, a sentence without addresses; "" = it answered
	Since   time.Time // since when that is so; zero = not known
	Version string    // "" = not known
	Address string    // that was tried, host:port without credentials; "" = not known
	Err     error     // for the log; nil if there is no Trouble
	Plain   bool      // it is reached beyond this machine and without TLS
}

// Dependencies are what each process of Temper needs.
type Dependencies struct {
	PostgreSQL, Temporal Answer
}

// Trouble of a dependency.
const (
	PostgreSQLAway     = "PostgreSQL does not answer"
	PostgreSQLOutdated = "PostgreSQL answers, but its tables are not those of this version of Temper"
	TemporalAway       = "Temporal does not answer"
)

// System is what one API process knows of the parts of Temper.
type System struct {
	Now     time.Time
	Version string // of the API process
	// Settings is the file from which the API process has its settings, as another role would on the same host; "" = the
	// environment has them.
	Settings string
	Dependencies
	Fleet *coverage.Health // nil = PostgreSQL did not tell
	// Uncovered counts the nodes that no live conductor covers; nil = not asked, or PostgreSQL did not tell.
	Uncovered []coverage.Quarantined
	Late      time.Duration // the age from which on the last reconciliation is too old
	// Setup is what differs in Temporal; nil = not asked, or Temporal did not tell.
	Setup *Setup
}

// Part is how one part of Temper does.
type Part struct {
	Name string
	OK   *bool // nil = it is not known
	// Since is when it began to be as it is; nil = not known.
	Since    *time.Time
	Message  string            // how it does, a sentence without a full stop
	Works    string            // what still works, and what does not; "" if it is OK or not known
	Check    string            // what an operator looks at, sentences without the last full stop; "" if it is OK or not known
	Versions []string          // those that run, sorted
	Actions  []help.Action     // what somebody can do about it
	Mends    []help.Difference // what somebody can put right in Temporal
}

// Broken reports whether it is known that something is wrong with the part.
func (p Part) Broken() bool { return p.OK != nil && !*p.OK }

// Parts returns how each part of Temper does. Only here is decided whether a part is broken.
func Parts(s System) []Part {
	temporal, reconciliation := s.temporal(), s.reconciliation()
	s.withSetup(&temporal, &reconciliation)
	parts := []Part{s.api(), s.postgreSQL(), temporal, s.orchestrators(), s.conductors(), reconciliation, s.clocks()}
	if boot, runs := s.boot(); runs {
		parts = append(parts, boot)
	}
	for i := range parts {
		if parts[i].Versions == nil {
			parts[i].Versions = []string{}
		}
	}
	return parts
}

func (s *System) api() Part {
	all, alive := s.of(coverage.RoleAPI)
	p := ok(PartAPI, "it answers")
	if alive > 1 {
		p.Message = fmt.Sprintf("%d processes are alive", alive)
	}
	p.Message += s.died(all)
	p.Versions = versionsOf(all, s.Version)
	return p
}

// boot is the part that serves servers which boot by network. runs is false where nobody has started one.
func (s *System) boot() (p Part, runs bool) {
	all, alive := s.of(coverage.RoleBoot)
	if len(all) == 0 {
		return p, false
	}
	p = ok(PartBoot, text.Count(alive, "process is", "processes are")+" alive")
	if alive == 0 {
		p.OK = new(bool)
		p.Message = "no process is alive"
		p.Works = "whatever boots no agent; servers that are to boot by network find nothing, and their operations fail"
		p.Check = "Start temper boot in the networks of the servers"
	}
	p.Message += s.died(all)
	p.Versions = versionsOf(all, "")
	return p, true
}

func (s *System) postgreSQL() Part {
	p := s.PostgreSQL.part(PartPostgreSQL, "database_url",
		"servers that are deployed run on. Nothing can be read, accepted or recorded until it answers; steps send no further request to hardware, and go on afterwards")
	if s.PostgreSQL.Trouble == PostgreSQLOutdated {
		p.Check = "Run \"temper migrate\" of the newer version, or start the version of Temper that the tables were made for"
	}
	return p
}

func (s *System) temporal() Part {
	p := s.Temporal.part(PartTemporal, "temporal_address",
		"nodes can be read and changed, and requests are accepted; operations begin and go on when it answers")
	if s.Temporal.Plain && !p.Broken() {
		p.Message += ", beyond this machine and without TLS: keep its frontend in a network of its own, because whoever reaches it can do what workflows can"
	}
	if !p.Broken() || s.Fleet == nil || s.Fleet.Contact < 0 {
		return p
	}
	last := s.Now.Add(-s.Fleet.Contact)
	switch {
	case p.Since == nil || last.Before(*p.Since):
		p.Since = &last
	case last.After(p.Since.Add(contactEvery)):
		p.Message += " this API; other processes of Temper reach it"
		p.Works = "operations go on; those that are accepted by this API begin some seconds later"
	}
	return p
}

// contactEvery is how often, at least, orchestrators and conductors that run reach Temporal.
const contactEvery = 10 * time.Second

// part is the part of that name, whose address is in setting.
func (a Answer) part(name, setting, works string) Part {
	p := Part{Name: name, Message: "it answers", Works: works, Since: moment(a.Since)}
	if a.Version != "" {
		p.Versions = []string{a.Version}
	}
	fine := a.Trouble == ""
	p.OK = &fine
	if fine {
		p.Works = ""
		return p
	}
	p.Message = a.Trouble
	p.Check = fmt.Sprintf("This API tries %s (setting %s). Check that it runs there and that the host of the API reaches that address; the log of the API has the error",
		cmp.Or(a.Address, "an address"), setting)
	return p
}

func (s *System) orchestrators() Part {
	if s.Fleet == nil {
		return unknown(PartOrchestrators)
	}
	all, alive := s.of(coverage.RoleOrchestrator)
	p := ok(PartOrchestrators, text.Count(alive, "is alive", "are alive")+s.died(all))
	p.Versions = versionsOf(all)
	if alive > 0 {
		return p
	}
	p = broken(p, "no orchestrator runs", "requests are accepted, and steps that have begun go on; nothing else begins, ends or is reconciled until one runs")
	p.Check = "The log of the last one says why it ended. Its host must reach PostgreSQL and Temporal"
	p.Actions = []help.Action{{Do: fault.StartOrchestrator, Settings: s.Settings}}
	if len(all) > 0 {
		last := slices.MinFunc(all, func(a, b coverage.Process) int { return int(a.Silent - b.Silent) })
		p.Since = moment(s.Now.Add(-last.Silent))
		p.Message += fmt.Sprintf("; the last one was %s", last.Name)
	}
	return p
}

// died names the processes that have died without a word, with since when they are silent, until they are forgotten; "" if there are
// none. Nobody knows whether they are expected back, so that they break nothing.
func (s *System) died(all []coverage.Process) string {
	var names []string
	for _, p := range all {
		if !p.Alive {
			names = append(names, p.Name+" since "+text.Clock(s.Now.Add(-p.Silent), s.Now))
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("; no sign of life of %s (forgotten after %s)", text.Some(names[:min(len(names), coverage.MaxDead)], len(names)), text.Duration(coverage.ForgottenAfter))
}

func (s *System) conductors() Part {
	if s.Fleet == nil {
		return unknown(PartConductors)
	}
	count := s.Fleet.Conductors
	running := count[coverage.StateAlive] + count[coverage.StateDraining]
	dead := count[coverage.StateDead]
	p := ok(PartConductors, fmt.Sprintf("%d of %d are alive", running-s.Fleet.LateCount, running+dead))
	if late := s.lateConductors(); late != "" {
		p.Message += ", " + late
	}
	all, _ := s.of(coverage.RoleConductor)
	p.Versions = versionsOf(all)
	uncovered, where, lacks := 0, []string{}, []help.Action{}
	for _, u := range s.Uncovered {
		if u.Nodes == 0 {
			continue
		}
		uncovered += u.Nodes
		where = append(where, fmt.Sprintf("%d with driver %s in %s", u.Nodes, u.Driver, node.GroupWords(u.Group)))
		if u.Uncovered {
			lacks = append(lacks, help.Action{Do: fault.StartConductor, Conductor: u.Former, Group: u.Group, Drivers: cmp.Or(u.FormerDrivers, u.Driver), Settings: s.Settings})
		}
	}
	var trouble []string
	p.Actions = append(p.Actions, lacks[:min(len(lacks), coverage.MaxDead)]...)
	if dead > 0 {
		trouble = append(trouble, fmt.Sprintf("%d of %d are dead: %s", dead, running+dead, text.Some(s.Fleet.Dead, dead)))
		p.Since = moment(s.Now.Add(-s.Fleet.DeadFor))
		if len(lacks) == 0 {
			p.Actions = append(p.Actions, help.Action{Do: fault.StartConductor, Conductor: s.Fleet.Dead[0], Group: s.Fleet.DeadGroup, Drivers: s.Fleet.DeadDrivers, Settings: s.Settings})
		}
		for _, name := range s.Fleet.Dead {
			p.Actions = append(p.Actions, help.Action{Do: fault.ForgetConductor, Conductor: name})
		}
	}
	if running == 0 {
		if dead > 0 { // as long as one was alive, the others' work went on
			p.Since = moment(s.Now.Add(-s.Fleet.LastDead))
		}
		trouble = append(trouble, "no conductor is alive")
		if dead == 0 && len(lacks) == 0 {
			p.Actions = append(p.Actions, help.Action{Do: fault.StartConductor, Settings: s.Settings})
		}
	}
	if uncovered > 0 {
		trouble = append(trouble, fmt.Sprintf("no live conductor covers %s: %s%s", nodes(uncovered), text.Some(where[:min(len(where), coverage.MaxDead)], len(where)), s.waiting()))
	}
	if trouble == nil {
		return p
	}
	if late := s.lateConductors(); late != "" {
		trouble = append(trouble, late)
	}
	switch {
	case running == 0:
		return broken(p, strings.Join(trouble, "; "), "nodes can be read and changed; no work on hardware begins or goes on until a conductor runs")
	case uncovered > 0:
		return broken(p, strings.Join(trouble, "; "), "all other nodes; those are offered to nobody, and their operations wait for a conductor")
	}
	return broken(p, strings.Join(trouble, "; "), "everything: other conductors go on with the work of those that are dead")
}

// waiting says how many operations wait for a conductor, and when the first of them fails; "" if none waits.
func (s *System) waiting() string {
	waiting, first := 0, (*time.Time)(nil)
	for _, u := range s.Uncovered {
		waiting += u.Waiting
		if u.FailsAt != nil && (first == nil || u.FailsAt.Before(*first)) {
			first = u.FailsAt
		}
	}
	if waiting == 0 {
		return ""
	}
	words := "; " + text.Count(waiting, "operation waits", "operations wait") + " for one"
	if first != nil {
		words += ", the first fails at " + text.Clock(*first, s.Now) + " if none comes"
	}
	return words
}

// lateConductors says which conductors are alive and have sent no heartbeat for longer than two intervals; "" if none are.
func (s *System) lateConductors() string {
	if s.Fleet.LateCount == 0 {
		return ""
	}
	names := make([]string, len(s.Fleet.Late))
	for i, c := range s.Fleet.Late {
		names[i] = fmt.Sprintf("%s (no heartbeat for %s; counts as dead after %s)", c.Name, text.Duration(c.Silent.Round(time.Second)), text.Duration(s.Fleet.DeadAfter))
	}
	return fmt.Sprintf("%d late: %s", s.Fleet.LateCount, text.Some(names, s.Fleet.LateCount))
}

func (s *System) reconciliation() Part {
	if s.Fleet == nil {
		return unknown(PartReconciliation)
	}
	if !s.late() {
		words := fmt.Sprintf("the last one ended %s ago", text.Duration(s.Fleet.Age.Round(time.Second)))
		if s.Fleet.Age > s.Late {
			words += fmt.Sprintf(", and for %s of that PostgreSQL or Temporal was away", text.Duration(s.Fleet.Outage.Round(time.Second)))
		}
		p := ok(PartReconciliation, fmt.Sprintf("%s; the ring has epoch %d", words, s.Fleet.Epoch))
		p.Since = moment(s.Now.Add(-s.Fleet.Age))
		return p
	}
	check := "See that an orchestrator runs, and look at its log"
	p := broken(Part{Name: PartReconciliation, Check: check}, "none has ever ended", "operations go on; what was missed, lost or left to be undone waits")
	if s.Fleet.Age >= 0 {
		p.Message, p.Since = fmt.Sprintf("none has ended for %s", text.Duration(s.Fleet.Age.Round(time.Second))), moment(s.Now.Add(-s.Fleet.Age))
	}
	return p
}

// late reports whether the last reconciliation is too old. There can be none while PostgreSQL or Temporal is away.
func (s *System) late() bool {
	return s.Fleet != nil && (s.Fleet.Age < 0 || s.Fleet.Age-s.Fleet.Outage > s.Late)
}

// clockTolerance is how far a clock may differ from the database's.
const clockTolerance = 5 * time.Second

func (s *System) clocks() Part {
	if s.Fleet == nil {
		return unknown(PartClocks)
	}
	var wrong []string
	known, furthest := 0, time.Duration(0)
	for _, p := range s.Fleet.Processes {
		if p.Ahead == nil || !p.Alive {
			continue
		}
		known++
		by := p.Ahead.Abs()
		furthest = max(furthest, by)
		if by <= clockTolerance+p.Error {
			continue
		}
		direction := "ahead"
		if *p.Ahead < 0 {
			direction = "behind"
		}
		wrong = append(wrong, fmt.Sprintf("that of %s %s is %s %s", p.Role, p.Name, text.Duration(by.Round(100*time.Millisecond)), direction))
	}
	if len(wrong) > 0 {
		return broken(Part{Name: PartClocks, Check: "Synchronize the clocks of these hosts and of PostgreSQL's host with the same time servers"}, "clocks differ from PostgreSQL's: "+text.Some(wrong[:min(len(wrong), coverage.MaxDead)], len(wrong)),
			"everything; times in sentences and logs are off, and certificates may seem expired or not valid yet")
	}
	return ok(PartClocks, fmt.Sprintf("those of %d processes differ from PostgreSQL's by at most %s", known, text.Duration(furthest.Round(time.Millisecond))))
}

func (s *System) of(r coverage.Role) ([]coverage.Process, int) {
	if s.Fleet == nil {
		return nil, 0
	}
	return s.Fleet.Of(r)
}

func ok(name, message string) Part {
	fine := true
	return Part{Name: name, OK: &fine, Message: message}
}

func broken(p Part, message, works string) Part {
	fine := false
	p.OK, p.Message, p.Works = &fine, message, works
	return p
}

func unknown(name string) Part {
	return Part{Name: name, Message: "not known while PostgreSQL does not answer"}
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// versionsOf returns the versions of processes that are alive, and others, sorted.
func versionsOf(all []coverage.Process, others ...string) []string {
	var out []string
	for _, p := range all {
		if p.Alive {
			others = append(others, p.Version)
		}
	}
	for _, v := range others {
		if v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

func nodes(n int) string { return text.Count(n, "node", "nodes") }

// Away returns the sentence about the part that is broken and without which nothing goes on with
// any node; "" if there is none. It ends without a full stop.
func (s *System) Away() string {
	if s.Now.IsZero() {
		return ""
	}
	for _, p := range []Part{s.temporal(), s.orchestrators()} {
		if !p.Broken() {
			continue
		}
		if p.Name == PartOrchestrators && s.late() && s.Fleet.Age >= 0 {
			return fmt.Sprintf("No orchestrator has reconciled for %s: nothing goes on until one runs", text.Duration(s.Fleet.Age.Round(time.Second)))
		}
		return text.Capital(p.Message) + text.Since(p.Since, s.Now) + ": " + p.Works
	}
	return ""
}

// AwayBriefly is Away without since when, and without what still works.
func (s *System) AwayBriefly() string {
	switch s.Cause() {
	case fault.TemporalUnavailable:
		return TemporalAway
	case fault.ServiceUnavailable:
		return "no orchestrator runs"
	}
	return ""
}

// Cause is the code of what Away tells; "" if nothing is away.
func (s *System) Cause() fault.Code {
	part := s.temporal()
	switch {
	case s.Away() == "":
		return ""
	case part.Broken():
		return fault.TemporalUnavailable
	}
	return fault.ServiceUnavailable
}

// Unreconciled returns the sentence about reconciliation if the last one is too old; "" if it is not.
func (s *System) Unreconciled() string {
	p := s.reconciliation()
	if !p.Broken() {
		return ""
	}
	return "Reconciliation is late, " + p.Message + ": " + p.Works
}
