package explain_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

// A decision would be refused while Temporal is away, so that none is suggested.
func TestNoDecisionIsSuggestedWhileTemporalIsAway(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Phase: node.Holding, AcceptedAt: now, WaitingFor: "a decision", Steps: []node.Step{{
		Interface: "raid", Step: "apply", Source: node.SourceDriver, State: node.StepFailed, LastError: "no disk",
	}}}
	n := &node.Node{ProvisionState: node.DeployHold, Operation: o}
	decides := func(a help.Action) bool { return a.Do == fault.Decide }
	require.True(t, slices.ContainsFunc(explain.Node(n, explain.Facts{Now: now, Covered: true}).Actions, decides))
	away := status.System{Now: now, Dependencies: status.Dependencies{Temporal: status.Answer{Trouble: status.TemporalAway, Since: now}}}
	e := explain.Node(n, explain.Facts{Now: now, Covered: true, System: away})
	require.False(t, slices.ContainsFunc(e.Actions, decides), e.Actions)
	require.Contains(t, e.Actions, help.Action{Do: fault.ShowStatus})
	require.Contains(t, e.Paragraph(nil), "A decision is possible when that is mended (Temporal does not answer).")
}
