package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/inventory"
	"go.temper.dev/temper/internal/node"
)

func TestOtherHardwareIsNoted(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	show := help.Action{Do: fault.ShowInventory}
	note := func(c *inventory.Comparison) explain.Explanation {
		return explain.Node(&node.Node{ProvisionState: node.Available}, explain.Facts{Now: at, Covered: true, Hardware: c})
	}
	e := note(&inventory.Comparison{
		CollectedAt: at, Changes: inventory.Changes{List: []inventory.Change{{Kind: inventory.Disk, Name: "D1"}}, More: 1},
		ResourceClass: "big", Differences: []inventory.Difference{{Fact: "disks"}, {Fact: "memory modules"}},
	})
	const words = "Its last inspection, at 2030-01-02 03:04:05Z, found other hardware than the one before (2 differences), " +
		"and other hardware than most nodes of class big have (disks, memory modules)"
	require.Equal(t, []string{words}, e.Notes)
	require.Contains(t, e.Paragraph(nil), words+".")
	require.Empty(t, e.Cause, "it keeps the node from nothing")
	require.Contains(t, e.Actions, show)
	for _, same := range []*inventory.Comparison{nil, {CollectedAt: at, ResourceClass: "big", Siblings: 7}} {
		e := note(same)
		require.Empty(t, e.Notes)
		require.NotContains(t, e.Actions, show)
	}
}
