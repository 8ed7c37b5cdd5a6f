package explain

import (
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/coverage"
)

// TemporalSetup is how what Temper has made in Temporal differs from what this version of Temper wants.
type TemporalSetup struct {
	Differences []Difference
	Paused      *Difference // the reconciliation's schedule is paused; nil = it is not
	PauseNote   string      // Temporal's note about the pause; "" = there is none
}

// TemporalObject is a kind of thing that Temper makes in Temporal.
type TemporalObject string

// What Temper makes in Temporal.
const (
	TemporalNamespace TemporalObject = "namespace"
	TemporalAttribute TemporalObject = "search attribute"
	TemporalSchedule  TemporalObject = "schedule"
	TemporalWorkflow  TemporalObject = "workflow"
)

// PausedField is the field of a schedule that a person sets in Temporal, and that Temper leaves alone.
const PausedField = "paused"

// Difference is a field of something in Temporal that is not as this version of Temper wants it.
type Difference struct {
	Namespace string
	Object    TemporalObject
	Name      string // of the object in its namespace; "" = it is the namespace
	Field     string // "" = the object is missing
	Have      string // "" of a search attribute: it is missing
	Want      string
	Flags     string // with which Temporal's command line makes a schedule as it is wanted
}

// What names the object.
func (d Difference) What() string {
	if d.Name == "" {
		return string(d.Object)
	}
	return string(d.Object) + " " + d.Name
}

// Missing reports whether the object itself is missing.
func (d Difference) Missing() bool {
	return d.Field == "" || d.Object == TemporalAttribute && d.Have == ""
}

// words says how it differs, and in which namespace.
func (d Difference) words() string {
	where := "in namespace " + d.Namespace + ", " + d.What()
	if d.Object == TemporalNamespace {
		where = "namespace " + d.Namespace
	}
	if d.Missing() {
		return where + " is missing"
	}
	return fmt.Sprintf("%s: %s is %s, and %s is wanted", where, d.Field, d.Have, d.Want)
}

// of returns the differences of the schedule, or all others.
func (t *TemporalSetup) of(schedule bool) (out []Difference) {
	for _, d := range t.Differences {
		if (d.Object == TemporalSchedule) == schedule {
			out = append(out, d)
		}
	}
	return out
}

// inWords returns the first differences in words.
func inWords(all []Difference) string {
	var words []string
	for _, d := range all[:min(len(all), coverage.MaxDead)] {
		words = append(words, d.words())
	}
	out := strings.Join(words, "; ")
	if more := len(all) - len(words); more > 0 {
		out += fmt.Sprintf("; and %d more", more)
	}
	return out
}

// putRight says who puts a difference right.
const putRight = "Orchestrators put it right within seconds. If they don't, Temporal does not let them, as their logs say: whoever may change it there runs the commands below"

// withSetup adds to the parts what differs in Temporal.
func (s *System) withSetup(temporal, reconciliation *Part) {
	if s.Setup == nil || temporal.Broken() {
		return
	}
	if all := s.Setup.of(false); len(all) > 0 {
		*temporal = broken(*temporal, "it answers; "+inWords(all), "what does not need these; an operation whose search attributes Temporal refuses does not begin")
		temporal.Check, temporal.Mends, temporal.Since = putRight, all, nil
	}
	differs := s.Setup.of(true)
	if len(differs) > 0 {
		reconciliation.Message += "; " + inWords(differs)
		if reconciliation.Broken() {
			reconciliation.Check = putRight
		}
		reconciliation.Mends = differs[:1] // one command makes the whole schedule
	}
	if s.Setup.Paused != nil {
		reconciliation.Message += "; its schedule is paused in Temporal"
		if s.Setup.PauseNote != "" {
			reconciliation.Message += fmt.Sprintf(" (%s)", s.Setup.PauseNote)
		}
		if reconciliation.Broken() && len(differs) == 0 {
			reconciliation.Check = "A person has paused the schedule in Temporal. Temper does not end that pause: the command below does"
		}
		reconciliation.Mends = append(reconciliation.Mends, *s.Setup.Paused)
	}
}
