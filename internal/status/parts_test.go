package status_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/status"
)

// The conductors' part is broken since the first has died. That none is alive is so since the last one has died.
func TestSinceWhenTheConductorsAreBroken(t *testing.T) {
	now := time.Now()
	of := func(alive int) status.Part {
		parts := status.Parts(status.System{Now: now, Fleet: &coverage.Health{
			Conductors: map[string]int{coverage.StateDead: 2, coverage.StateAlive: alive}, Dead: []string{"c1", "c2"}, DeadFor: time.Hour, LastDead: time.Minute,
		}})
		return parts[slices.IndexFunc(parts, func(p status.Part) bool { return p.Name == status.PartConductors })]
	}
	require.Equal(t, now.Add(-time.Hour), *of(1).Since)
	require.Equal(t, now.Add(-time.Minute), *of(0).Since)
	require.Equal(t, []help.Action{{Do: fault.StartConductor, Conductor: "c1"}, {Do: fault.ForgetConductor, Conductor: "c1"}, {Do: fault.ForgetConductor, Conductor: "c2"}}, of(1).Actions)
}

// What no node needs any more is nothing to start a conductor for.
func TestConductorsForNodesThatAreGoneAreNotMissed(t *testing.T) {
	of := func(state string) status.Part {
		parts := status.Parts(status.System{
			Now: time.Now(), Fleet: &coverage.Health{Conductors: map[string]int{coverage.StateAlive: 1, state: 1}, Dead: []string{"c1"}},
			Uncovered: []coverage.Quarantined{{Group: "old", Driver: "ipmi", Uncovered: true, Former: "c0", FormerDrivers: "ipmi"}},
		})
		return parts[slices.IndexFunc(parts, func(p status.Part) bool { return p.Name == status.PartConductors })]
	}
	require.False(t, of(coverage.StateAlive).Broken())
	require.Empty(t, of(coverage.StateAlive).Actions)
	require.Equal(t, help.Action{Do: fault.StartConductor, Conductor: "c1"}, of(coverage.StateDead).Actions[0])
}

// A process that was killed is named, with since when, and is forgotten. It is none of those that should run.
func TestAProcessThatHasDiedIsNamedUntilItIsForgotten(t *testing.T) {
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	of := func(role coverage.Role, part string, silent ...time.Duration) string {
		health := &coverage.Health{}
		for i, d := range silent {
			health.Processes = append(health.Processes, coverage.Process{Role: role, Name: string(role) + "-" + string(rune('a'+i)), Silent: d, Alive: d < time.Minute})
		}
		parts := status.Parts(status.System{Now: now, Fleet: health})
		return parts[slices.IndexFunc(parts, func(p status.Part) bool { return p.Name == part })].Message
	}
	require.Equal(t, "it answers", of(coverage.RoleAPI, status.PartAPI, time.Second))
	require.Equal(t, "it answers; no sign of life of api-b since 09:50:00Z (forgotten after 1h)", of(coverage.RoleAPI, status.PartAPI, time.Second, 10*time.Minute))
	require.Equal(t, "2 processes are alive; no sign of life of api-c since 09:50:00Z (forgotten after 1h)",
		of(coverage.RoleAPI, status.PartAPI, time.Second, time.Second, 10*time.Minute, coverage.ForgottenAfter+time.Second))
	require.Equal(t, "1 is alive; no sign of life of orchestrator-b since 09:05:00Z, orchestrator-c since 09:50:00Z (forgotten after 1h)",
		of(coverage.RoleOrchestrator, status.PartOrchestrators, time.Second, 55*time.Minute, 10*time.Minute))
	require.Equal(t, "no orchestrator runs; the last one was orchestrator-a", of(coverage.RoleOrchestrator, status.PartOrchestrators, 10*time.Minute))
	require.Equal(t, "no orchestrator runs", of(coverage.RoleOrchestrator, status.PartOrchestrators, 2*time.Hour))
}

func TestATemporalThatStrangersMayReachIsNamed(t *testing.T) {
	t.Parallel()
	temporal := func(a status.Answer) status.Part {
		parts := status.Parts(status.System{Now: time.Now(), Dependencies: status.Dependencies{Temporal: a}})
		return parts[slices.IndexFunc(parts, func(p status.Part) bool { return p.Name == status.PartTemporal })]
	}
	require.Equal(t, "it answers", temporal(status.Answer{}).Message)
	open := temporal(status.Answer{Plain: true})
	require.True(t, *open.OK)
	require.Contains(t, open.Message, "without TLS: keep its frontend in a network of its own")
	require.NotContains(t, temporal(status.Answer{Plain: true, Trouble: "it is away"}).Message, "TLS")
}
