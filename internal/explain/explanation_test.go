package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/node"
)

// The words, with the commands, are in a test of package api.
func TestAnActionIsNamedOnce(t *testing.T) {
	retry := explain.Action{Do: explain.RetryOperation, Operation: 11}
	ended := &node.Operation{ID: 11, Kind: node.KindDeploy, Outcome: node.Failed}
	undo := &node.Operation{ID: 11, Kind: node.KindUndo, Outcome: node.Failed}
	for _, s := range node.States() {
		n := &node.Node{ProvisionState: s, LastError: "no disk", Owed: []node.Undo{node.UndoPowerOff}, Maintenance: s == node.Active}
		e := explain.Node(n, explain.Facts{Covered: s != node.CleanFailed, Previous: ended, Undo: undo})
		seen := map[explain.Action]bool{}
		for _, a := range e.Actions {
			require.False(t, seen[a], "%s: %v", s, a)
			require.Contains(t, explain.Dos, a.Do)
			seen[a] = true
		}
		require.Equal(t, s != node.CleanFailed, seen[retry], s)
		require.Contains(t, e.Actions, explain.Action{Do: explain.WaiveUndo})
	}
}
