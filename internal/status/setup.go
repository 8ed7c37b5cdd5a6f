package status

import (
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/help"
)

// Setup is how what Temper has made in Temporal differs from what this version of Temper wants.
type Setup struct {
	Differences []help.Difference
	Paused      *help.Difference // the reconciliation's schedule is paused; nil = it is not
	PauseNote   string           // Temporal's note about the pause; "" = there is none
}

// of returns the differences of the schedule, or all others.
func (t *Setup) of(schedule bool) (out []help.Difference) {
	for _, d := range t.Differences {
		if (d.Object == help.TemporalSchedule) == schedule {
			out = append(out, d)
		}
	}
	return out
}

// inWords returns the first differences in words.
func inWords(all []help.Difference) string {
	var words []string
	for _, d := range all[:min(len(all), coverage.MaxDead)] {
		words = append(words, d.Words())
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
