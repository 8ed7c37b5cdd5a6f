package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/inventory"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// dimms is an inventory with n memory modules.
func dimms(n int) map[string]any {
	var modules []map[string]any
	for i := range n {
		modules = append(modules, map[string]any{"slot": fmt.Sprintf("A%d", i+1), "size_mb": 32768, "serial": fmt.Sprintf("M%d", i+1)})
	}
	return map[string]any{"memory": map[string]any{"physical_mb": n * 32768, "modules": modules}}
}

// hardwareLines returns the lines of a node's history that tell of changed hardware.
func hardwareLines(t *testing.T, s *store.Store, n *node.Node) (lines []string) {
	t.Helper()
	history, err := s.History(t.Context(), n.UUID, node.Page{})
	require.NoError(t, err)
	for _, e := range history {
		if e.EventType == node.HistoryHardware {
			lines = append(lines, e.Event)
		}
	}
	return lines
}

func TestAnInspectionTellsWhatHasChanged(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n, o := inspecting(t, s, node.PhaseBooted)
	again := func() {
		_, err := s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Succeeded})
		require.NoError(t, err)
		n, o = inspectAgain(t, s, n, node.PhaseBooted)
	}
	_, err := s.Hardware(t.Context(), n.UUID)
	kind(t, fault.NotFound, err)
	save := func(inv map[string]any) {
		_, err := s.SaveInspection(t.Context(), o.ID, first, node.Inspection{Inventory: inv})
		require.NoError(t, err)
	}
	save(dimms(3))
	h, err := s.Hardware(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Nil(t, h.ChangedSince, "nothing was known before")
	require.Empty(t, h.Changes.List)
	require.Equal(t, "3 × 32 GiB", h.Facts["memory modules"])

	again()
	for range 2 { // a step may run twice
		save(dimms(2))
		h, err = s.Hardware(t.Context(), n.UUID)
		require.NoError(t, err)
		require.NotNil(t, h.ChangedSince)
		require.Equal(t, "memory changed from 96 GiB to 64 GiB; memory A3 gone (32 GiB serial M3)", h.Changes.String())
	}
	require.Equal(t, []string{
		"Inspection found other hardware than the one before: memory changed from 96 GiB to 64 GiB; memory A3 gone (32 GiB serial M3)",
	}, hardwareLines(t, s, n))
	var told int
	require.NoError(t, beside(t, url).QueryRow(t.Context(),
		`SELECT count(*) FROM events WHERE type = 'node.hardware_changed' AND operation_id = $1 AND jsonb_array_length(data -> 'changes') = 2`, o.ID).Scan(&told))
	require.Equal(t, 1, told)

	again()
	_, err = s.PutInventory(t.Context(), n.UUID, "a", dimms(2), nil)
	require.NoError(t, err)
	h, err = s.Hardware(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Empty(t, h.Changes.List, "an agent's inventory is compared, too")
	require.NotNil(t, h.ChangedSince)
	require.Len(t, hardwareLines(t, s, n), 1)
}

func TestANodeIsComparedWithItsClass(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	inspect := func(class string, n int) *node.Node {
		m, o := inspecting(t, s, node.PhaseBooted)
		_, err := s.SaveInspection(t.Context(), o.ID, first, node.Inspection{Inventory: dimms(n)})
		require.NoError(t, err)
		raw(t, url, `UPDATE nodes SET resource_class = '`+class+`' WHERE uuid = '`+m.UUID+`'`)
		return m
	}
	odd := inspect("gold", 15)
	for range 3 {
		inspect("gold", 16)
	}
	inspect("gold", 14)
	lonely := inspect("tin", 16)
	h, err := s.Hardware(t.Context(), odd.UUID)
	require.NoError(t, err)
	require.Equal(t, 4, h.Siblings)
	require.Equal(t, []inventory.Difference{
		{Fact: "memory", Here: "480 GiB", Usual: "512 GiB", Servers: 3, Of: 4},
		{Fact: "memory modules", Here: "15 × 32 GiB", Usual: "16 × 32 GiB", Servers: 3, Of: 4},
	}, h.Differences)
	h, err = s.Hardware(t.Context(), lonely.UUID)
	require.NoError(t, err)
	require.Zero(t, h.Siblings)
	require.Empty(t, h.Differences)
}
