package explain_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/explain"
)

// What differs in Temporal is told with its part. A schedule breaks its part only once reconciliations are late.
func TestWhatDiffersInTemporalIsTold(t *testing.T) {
	of := func(name string, age time.Duration, setup *explain.TemporalSetup, trouble string) explain.Part {
		parts := explain.Parts(explain.System{
			Now: time.Now(), Fleet: &coverage.Health{Age: age}, Late: time.Minute, Setup: setup,
			Dependencies: explain.Dependencies{Temporal: explain.Answer{Trouble: trouble}},
		})
		return parts[slices.IndexFunc(parts, func(p explain.Part) bool { return p.Name == name })]
	}
	attribute := explain.Difference{Namespace: "temper", Object: explain.TemporalAttribute, Name: "TemperHeld", Field: "type", Have: "Int", Want: "Bool"}
	gone := attribute
	gone.Name, gone.Have = "TemperStep", ""
	interval := explain.Difference{Namespace: "own", Object: explain.TemporalSchedule, Name: "reconcile", Field: "spec.interval", Have: "1y", Want: "10s"}
	paused := interval
	paused.Field = explain.PausedField
	setup := &explain.TemporalSetup{Differences: []explain.Difference{attribute, gone, interval}, Paused: &paused, PauseNote: "by ann"}

	p := of(explain.PartTemporal, 0, setup, "")
	require.True(t, p.Broken())
	require.Equal(t, "it answers; in namespace temper, search attribute TemperHeld: type is Int, and Bool is wanted; in namespace temper, search attribute TemperStep is missing", p.Message)
	require.Equal(t, []explain.Difference{attribute, gone}, p.Mends)
	require.NotEmpty(t, p.Works)
	require.NotEmpty(t, p.Check)
	p = of(explain.PartTemporal, 0, setup, explain.TemporalAway)
	require.Equal(t, explain.TemporalAway, p.Message)
	require.Empty(t, p.Mends)
	system := explain.System{Now: time.Now(), Setup: setup, Fleet: &coverage.Health{}}
	require.NotContains(t, system.Away(), "Temporal", "operations go on")

	for _, late := range []bool{false, true} {
		age := time.Second
		if late {
			age = time.Hour
		}
		p = of(explain.PartReconciliation, age, setup, "")
		require.Equal(t, late, p.Broken())
		require.Contains(t, p.Message, "; in namespace own, schedule reconcile: spec.interval is 1y, and 10s is wanted; its schedule is paused in Temporal (by ann)")
		require.Equal(t, []explain.Difference{interval, paused}, p.Mends)
		require.Equal(t, late, p.Check != "")
		p = of(explain.PartReconciliation, age, &explain.TemporalSetup{Paused: &paused}, "")
		require.Equal(t, late, p.Check != "")
		require.Equal(t, []explain.Difference{paused}, p.Mends)
	}
	require.Empty(t, of(explain.PartReconciliation, time.Second, &explain.TemporalSetup{}, "").Mends)
}
