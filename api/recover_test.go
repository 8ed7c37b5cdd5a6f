package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// Whoever is at work goes on until the claim ends, also while Temporal is asked.
func TestWhatAStepLeavesUntilItsNodeIsTakenByForceIsOwed(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Deploying)
	b.ops.status = node.RunStatus{Known: true, Open: true}
	b.ops.asked = func() { b.sql(`UPDATE operations SET undo = '["eject media"]'`) }
	done := b.post("/temper/v1/nodes/n1/recover", map[string]any{"force": true, "reason": "rack 7 burns"}).is(200)
	require.Contains(t, done["done"], "ended by force")
	n, err := b.store.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.Equal(t, node.DeployFailed, n.ProvisionState)
	require.Contains(t, n.Owed, node.UndoEjectMedia)
}
