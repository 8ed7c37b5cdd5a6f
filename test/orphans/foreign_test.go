package orphans_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// Somebody has started a workflow under the id of an operation's, or one of another database is there. The operation gets another id.
func TestAnOperationWhoseIDAForeignWorkflowHasIsStartedUnderAnother(t *testing.T) {
	w := newWorld(t)
	o := &orphan{state: node.Deploying, what: neverStarted, owner: "dead", cover: covers[0]}
	w.leave(o)
	w.temporal.foreign = o.workflow
	require.Equal(t, 1, w.tick().Started)
	n, err := w.Node(t.Context(), o.uuid)
	require.NoError(t, err)
	require.NotNil(t, n.Operation, "it goes on")
	require.NotEqual(t, o.workflow, n.Operation.WorkflowID)
	require.True(t, w.temporal.status[n.Operation.WorkflowID].Open)
	_, err = w.Begin(t.Context(), o.op, o.workflow, "r1")
	require.Error(t, err, "the foreign workflow can't take the operation")
	_, err = w.Begin(t.Context(), o.op, n.Operation.WorkflowID, "r2")
	require.NoError(t, err)
}

// A database that is older than Temporal shows an operation as open that has succeeded. It is closed as it was then, and
// what its row says is left to undo was done.
func TestAnOperationThatHadSucceededBeforeTheDatabaseWasRestoredSucceeds(t *testing.T) {
	w := newWorld(t)
	o := &orphan{state: node.Deploying, what: terminated, owner: "dead", cover: covers[0]}
	w.leave(o)
	st := w.temporal.status[o.workflow]
	st.How = node.RunCompleted
	w.temporal.status[o.workflow] = st
	require.Equal(t, 1, w.tick().Recovered)
	n, err := w.Node(t.Context(), o.uuid)
	require.NoError(t, err)
	require.Equal(t, node.Active, n.ProvisionState)
	require.Empty(t, n.Owed)
	require.Nil(t, n.Operation)
}
