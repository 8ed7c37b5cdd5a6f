package explain_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/explain"
)

// The conductors' part is broken since the first has died. That none is alive is so since the last one has died.
func TestSinceWhenTheConductorsAreBroken(t *testing.T) {
	now := time.Now()
	of := func(alive int) explain.Part {
		parts := explain.Parts(explain.System{Now: now, Fleet: &coverage.Health{
			Conductors: map[string]int{coverage.StateDead: 2, coverage.StateAlive: alive}, Dead: []string{"c1", "c2"}, DeadFor: time.Hour, LastDead: time.Minute,
		}})
		return parts[slices.IndexFunc(parts, func(p explain.Part) bool { return p.Name == explain.PartConductors })]
	}
	require.Equal(t, now.Add(-time.Hour), *of(1).Since)
	require.Equal(t, now.Add(-time.Minute), *of(0).Since)
	require.Equal(t, []explain.Action{{Do: explain.StartConductor, Conductor: "c1"}, {Do: explain.ForgetConductor, Conductor: "c1"}, {Do: explain.ForgetConductor, Conductor: "c2"}}, of(1).Actions)
}

// What no node needs any more is nothing to start a conductor for.
func TestConductorsForNodesThatAreGoneAreNotMissed(t *testing.T) {
	of := func(state string) explain.Part {
		parts := explain.Parts(explain.System{
			Now: time.Now(), Fleet: &coverage.Health{Conductors: map[string]int{coverage.StateAlive: 1, state: 1}, Dead: []string{"c1"}},
			Uncovered: []coverage.Quarantined{{Group: "old", Driver: "ipmi", Uncovered: true, Former: "c0", FormerDrivers: "ipmi"}},
		})
		return parts[slices.IndexFunc(parts, func(p explain.Part) bool { return p.Name == explain.PartConductors })]
	}
	require.False(t, of(coverage.StateAlive).Broken())
	require.Empty(t, of(coverage.StateAlive).Actions)
	require.Equal(t, explain.Action{Do: explain.StartConductor, Conductor: "c1"}, of(coverage.StateDead).Actions[0])
}
