package node_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestAReasonKeepsItsTimeUntilItsSeverityChanges(t *testing.T) {
	began := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	fan := node.HealthReason{Kind: node.ComponentFan, Name: "Fan 1", Severity: node.HealthWarning, Message: "slow"}
	disk := node.HealthReason{Kind: node.ComponentStorage, Name: "Disk 1", Severity: node.HealthCritical, Message: "dead"}

	first, changed := node.Health{Status: node.HealthUnknown}.Then(node.HealthWarning, []node.HealthReason{fan}, began)
	require.True(t, changed)
	require.Equal(t, began, *first.Since)
	require.Equal(t, began, first.Reasons[0].Since)

	reworded := fan
	reworded.Message = "slow, 1201 rpm"
	same, changed := first.Then(node.HealthWarning, []node.HealthReason{reworded}, began.Add(time.Minute))
	require.False(t, changed, "words with a value in them are no news")
	require.Equal(t, first.Reasons, same.Reasons)
	require.Equal(t, began.Add(time.Minute), *same.ReadAt)

	worse, changed := same.Then(node.HealthCritical, []node.HealthReason{fan, disk}, began.Add(2*time.Minute))
	require.True(t, changed)
	require.Equal(t, "Disk 1", worse.Reasons[0].Name, "the worst first")
	require.Equal(t, began.Add(2*time.Minute), worse.Reasons[0].Since)
	require.Equal(t, began, worse.Reasons[1].Since)
	require.Equal(t, began.Add(2*time.Minute), *worse.Since)

	well, changed := worse.Then(node.HealthOK, nil, began.Add(3*time.Minute))
	require.True(t, changed)
	require.Empty(t, well.Reasons)
	_, changed = node.Health{}.Then(node.HealthUnknown, nil, began)
	require.True(t, changed, "the first reading is written, also if the BMC tells nothing")
}

func TestReasonsAreBounded(t *testing.T) {
	var many []node.HealthReason
	for i := range 500 {
		many = append(many, node.HealthReason{Kind: node.ComponentMemory, Name: fmt.Sprintf("DIMM %03d", i/2), Severity: node.HealthWarning})
	}
	many = append(many, node.HealthReason{Kind: node.ComponentFan, Severity: node.HealthCritical})
	kept := node.WorstFirst(many)
	require.Len(t, kept, node.MaxHealthReasons)
	require.Equal(t, node.ComponentFan, kept[0].Kind)
	require.Equal(t, "DIMM 000", kept[1].Name)
	require.Equal(t, "DIMM 001", kept[2].Name, "each part once")
}
