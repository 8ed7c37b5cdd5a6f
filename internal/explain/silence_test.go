package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestASilentBMCIsTold(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	n := &node.Node{Name: "n1", Driver: "redfish", DriverInfo: map[string]any{"redfish_address": "https://bmc.example.org"}, ProvisionState: node.Available}
	s := &node.BMCSilence{BMC: n.BMC(), Since: now.Add(-5 * time.Minute), AskedAt: now.Add(-10 * time.Second), AskedBy: "c1", Seen: "no answer in time.", NextAt: now.Add(20 * time.Second)}
	n.Silence = s
	e := explain.Node(n, explain.Facts{Now: now, Covered: true})
	require.Contains(t, e.Trouble, "The BMC has given no answer since 11:55:00Z; conductor c1 asked it last, at 11:59:50Z (no answer in time); it is asked again about 12:00:20Z")
	require.Equal(t, fault.BMCSilent, e.Cause)

	const failed = "no answer in time"
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Phase: node.Holding, Cause: fault.BMCSilent, Error: failed, AcceptedAt: now, Steps: []node.Step{
		{Interface: "deploy", Step: node.StepPrepare, State: node.StepFailed, LastError: failed, Cause: fault.BMCSilent},
	}}
	n.Operation, n.ProvisionState = o, node.DeployHold
	held := explain.Node(n, explain.Facts{Now: now, Covered: true})
	words := held.Paragraph(nil)
	require.Equal(t, 1, strings.Count(words, failed), words)
	require.Contains(t, words, "The BMC has given no answer since 11:55:00Z; conductor c1 asked it last, at 11:59:50Z; it is asked again about 12:00:20Z")
	n.Operation, n.ProvisionState = nil, node.Available

	s.NextAt = now
	e = explain.Node(n, explain.Facts{Now: now, Covered: true})
	require.Contains(t, e.Trouble, "The BMC has given no answer since 11:55:00Z; conductor c1 asked it last, at 11:59:50Z (no answer in time); it is due to be asked again")

	n.DriverInfo["redfish_address"] = "https://new.example.org"
	e = explain.Node(n, explain.Facts{Now: now, Covered: true})
	require.Empty(t, e.Trouble)
	require.Empty(t, e.Cause)
}

// The conductor of a group may have gone long before a node came to the group.
func TestANodeLacksNoConductorBeforeItIsThere(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	n := &node.Node{Driver: "redfish", ProvisionState: node.Enroll, Quarantine: &node.Quarantine{Since: now.Add(-2 * time.Hour)}}
	n.CreatedAt = now.Add(-time.Hour)
	require.Contains(t, explain.Node(n, explain.Facts{Now: now}).Trouble[0], "No live conductor covers it since 2026-11-23 11:00:00Z (1h)")
	n.CreatedAt = now.Add(-3 * time.Hour)
	require.Contains(t, explain.Node(n, explain.Facts{Now: now}).Trouble[0], "No live conductor covers it since 2026-11-23 10:00:00Z (2h)")
}
