package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// before is the run before, whose operation this run takes over.
const before = "the run before"

func (r *records) ofTheRunBefore() int64 {
	r.Helper()
	o := r.deploying(node.Step{Interface: "deploy", Step: "write_image", State: node.StepPending})
	_, err := r.db.Begin(r.Context(), o.ID, o.WorkflowID, before)
	require.NoError(r, err)
	return o.ID
}

func TestTheOperationOfARunThatContinuedAsNewIsTheNextRuns(t *testing.T) {
	t.Parallel()
	r := newRecords(t)
	id := r.ofTheRunBefore()
	r.temporal.status = node.RunStatus{Known: true, Open: true, RunID: run}
	got := r.do(r.ops.Adopt, id).(map[string]any)
	require.Equal(t, true, got["took"])
	require.EqualValues(t, time.Second, got["wait"], "until nothing of the run before can act")
	o := r.operation(id)
	require.Equal(t, run, o.RunID)
	require.EqualValues(t, got["seq"], o.Claim.Seq)
}

// Without a reset, an operation that has ended is not retried.
func TestAnOperationThatEndsWhileItsWorkflowContinuesAsNewStaysEnded(t *testing.T) {
	t.Parallel()
	r := newRecords(t)
	id := r.ofTheRunBefore()
	_, err := r.db.CloseOperation(t.Context(), node.End{Operation: id, Outcome: node.Cancelled})
	require.NoError(t, err)
	r.temporal.status = node.RunStatus{Known: true, Open: true, RunID: run}
	got := r.do(r.ops.Adopt, id).(map[string]any)
	require.Nil(t, got["took"])
	require.Nil(t, got["next"])
	require.Contains(t, got["words"], "has ended meanwhile")
}
