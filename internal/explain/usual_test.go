package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

// How long a step runs is told only while it runs, and that it is unusually long only while it could go on.
func TestTheUsualTimeIsOfAStepThatRuns(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	began, usually := now.Add(-11*time.Minute), now.Add(-time.Minute)
	const runs = "step deploy.write_image runs for 11m; usually 95 % end within 2.7s (the latest 57 on all servers)"
	alive := []coverage.Conductor{{Hostname: "c1", Alive: true}}
	away := status.System{Now: now, Dependencies: status.Dependencies{Temporal: status.Answer{Trouble: status.TemporalAway, Since: began}}}
	for name, c := range map[string]struct {
		change func(*node.Operation)
		facts  explain.Facts
		want   string
	}{
		"it runs":                {func(*node.Operation) {}, explain.Facts{Fleet: alive}, "unusually long: " + runs},
		"it is not late":         {func(o *node.Operation) { o.UsualUntil = nil }, explain.Facts{Fleet: alive}, runs},
		"Temporal is away":       {func(*node.Operation) {}, explain.Facts{Fleet: alive, System: away}, runs},
		"its conductor is dead":  {func(*node.Operation) {}, explain.Facts{}, ""},
		"it has failed, held":    {func(o *node.Operation) { o.Phase, o.Steps[0].State = node.Holding, node.StepFailed }, explain.Facts{Fleet: alive}, ""},
		"it is undone":           {func(o *node.Operation) { o.Phase = node.Undoing }, explain.Facts{Fleet: alive}, ""},
		"no conductor has it":    {func(o *node.Operation) { o.Phase, o.Blocked = node.Waiting, node.BlockedNoConductor }, explain.Facts{Fleet: alive}, ""},
		"it is paused":           {func(o *node.Operation) { o.TemporalPause = &node.Pause{} }, explain.Facts{Fleet: alive}, ""},
		"nobody knows":           {func(o *node.Operation) { o.Steps[0].Usual = nil }, explain.Facts{Fleet: alive}, ""},
		"it was begun once more": {func(o *node.Operation) { o.UsualUntil, o.Steps[0].Restarts = nil, 1 }, explain.Facts{Fleet: alive}, "step deploy.write_image was begun anew; usually 95 % end within 2.7s (the latest 57 on all servers)"},
	} {
		o := &node.Operation{ID: 7, Kind: node.KindDeploy, Phase: node.Running, Conductor: "c1", AcceptedAt: began, UsualUntil: &usually, Steps: []node.Step{{
			Interface: "deploy", Step: node.StepWriteImage, State: node.StepRunning, StartedAt: &began, Usual: &node.Usual{MS: 2700, Samples: 57, Basis: node.UsualOfStep},
		}}}
		c.change(o)
		c.facts.Now = now
		require.Equal(t, c.want, explain.UsualTime(o, c.facts), name)
	}
}
