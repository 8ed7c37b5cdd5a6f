package status_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/status"
)

// What differs in Temporal stands in the message of its part. A schedule breaks its part only once reconciliations are late.
func TestWhatDiffersInTemporalIsTold(t *testing.T) {
	of := func(name string, age time.Duration, setup *status.Setup, trouble string) status.Part {
		parts := status.Parts(status.System{
			Now: time.Now(), Fleet: &coverage.Health{Age: age}, Late: time.Minute, Setup: setup,
			Dependencies: status.Dependencies{Temporal: status.Answer{Trouble: trouble}},
		})
		return parts[slices.IndexFunc(parts, func(p status.Part) bool { return p.Name == name })]
	}
	attribute := help.Difference{Namespace: "temper", Object: help.TemporalAttribute, Name: "TemperHeld", Field: "type", Have: "Int", Want: "Bool"}
	gone := attribute
	gone.Name, gone.Have = "TemperStep", ""
	interval := help.Difference{Namespace: "own", Object: help.TemporalSchedule, Name: "reconcile", Field: "spec.interval", Have: "1y", Want: "10s"}
	paused := interval
	paused.Field = help.PausedField
	setup := &status.Setup{Differences: []help.Difference{attribute, gone, interval}, Paused: &paused, PauseNote: "by ann"}

	p := of(status.PartTemporal, 0, setup, "")
	require.True(t, p.Broken())
	require.Equal(t, "it answers; in namespace temper, search attribute TemperHeld: type is Int, and Bool is wanted; in namespace temper, search attribute TemperStep is missing", p.Message)
	require.Equal(t, []help.Difference{attribute, gone}, p.Mends)
	require.NotEmpty(t, p.Works)
	require.NotEmpty(t, p.Check)
	p = of(status.PartTemporal, 0, setup, status.TemporalAway)
	require.Equal(t, status.TemporalAway, p.Message)
	require.Empty(t, p.Mends)
	system := status.System{Now: time.Now(), Setup: setup, Fleet: &coverage.Health{}}
	require.NotContains(t, system.Away(), "Temporal", "operations go on")

	for _, late := range []bool{false, true} {
		age := time.Second
		if late {
			age = time.Hour
		}
		p = of(status.PartReconciliation, age, setup, "")
		require.Equal(t, late, p.Broken())
		require.Contains(t, p.Message, "; in namespace own, schedule reconcile: spec.interval is 1y, and 10s is wanted; its schedule is paused in Temporal (by ann)")
		require.Equal(t, []help.Difference{interval, paused}, p.Mends)
		require.Equal(t, late, p.Check != "")
		p = of(status.PartReconciliation, age, &status.Setup{Paused: &paused}, "")
		require.Equal(t, late, p.Check != "")
		require.Equal(t, []help.Difference{paused}, p.Mends)
	}
	require.Empty(t, of(status.PartReconciliation, time.Second, &status.Setup{}, "").Mends)
}
