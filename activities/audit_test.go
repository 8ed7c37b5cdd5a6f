package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/node"
)

// rules returns by which rules the audit has rows, the oldest first.
func (r *records) rules() (out []string) {
	r.Helper()
	rows, err := r.db.AuditEntries(r.Context(), audit.Filter{User: audit.UnknownPerson})
	require.NoError(r, err)
	for i := range rows {
		e := rows[len(rows)-1-i]
		require.Equal(r, []any{audit.Temporal, r.node.UUID, audit.Accepted}, []any{e.Method, e.NodeUUID, e.Outcome})
		require.NotZero(r, e.Operation)
		out = append(out, e.Rule)
	}
	return out
}

// Temporal does not say who clicked, but the audit has that somebody did.
func TestWhatPeopleDoInTemporalIsAudited(t *testing.T) {
	t.Parallel()
	t.Run("pause and unpause", func(t *testing.T) {
		r := newRecords(t)
		r.waits(r.begun().ID, 10*time.Minute)
		r.temporal.status = node.RunStatus{Known: true, Open: true, Pause: pausedAt(node.PauseOfWorkflow, time.Minute)}
		r.tick()
		r.tick()
		r.temporal.status.Pause = nil
		r.tick()
		r.tick()
		require.Equal(t, []string{"temporal:pause", "temporal:unpause"}, r.rules())
	})
	t.Run("a decision", func(t *testing.T) {
		r := newRecords(t)
		id := r.begun().ID
		r.do(r.ops.Hold, orchestrator.HoldInput{Operation: id, Seq: 2, Error: "no disk", Wait: time.Hour})
		r.do(r.ops.Decide, orchestrator.DecideInput{Operation: id, Seq: 3, Action: node.ActionRetry, By: "ann"})
		require.Empty(t, r.rules(), "the API audits its own")
		r.do(r.ops.Hold, orchestrator.HoldInput{Operation: id, Seq: 4, Error: "no disk", Wait: time.Hour})
		in := orchestrator.DecideInput{Operation: id, Seq: 5, Action: node.ActionRetry, By: "somebody in Temporal", InTemporal: true}
		r.do(r.ops.Decide, in)
		r.do(r.ops.Decide, in)
		require.Equal(t, []string{"temporal:retry"}, r.rules(), "once, also if it runs twice")
	})
	t.Run("terminate", func(t *testing.T) {
		r := newRecords(t)
		r.begun()
		r.temporal.status = node.RunStatus{Known: true, How: node.RunTerminated, ClosedAt: time.Now().Add(-time.Hour)}
		r.tick()
		require.Equal(t, []string{"temporal:terminate"}, r.rules())
	})
	for asked, want := range map[bool][]string{false: {"temporal:cancel"}, true: nil} {
		t.Run("cancel", func(t *testing.T) {
			r := newRecords(t)
			id := r.begun().ID
			if asked {
				_, err := r.db.AskOperation(t.Context(), id, node.AskCancel, "ann", "")
				require.NoError(t, err)
			}
			for range 2 {
				_, err := r.db.CloseOperation(t.Context(), node.End{Operation: id, Outcome: node.Cancelled})
				require.NoError(t, err)
			}
			require.Equal(t, want, r.rules())
		})
	}
}
