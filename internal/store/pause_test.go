package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// pauses records that the operation is paused in Temporal.
func pauses(t testing.TB, s *store.Store, id int64, what node.PauseOf) {
	t.Helper()
	_, err := s.Direct(t.Context(), id, func(n *node.Node) (node.OperationChange, error) {
		require.True(t, n.Operation.PauseInTemporal(node.Pause{What: what, At: time.Now(), By: "ann\x00", Reason: "look"}, time.Now()))
		return node.OperationChange{}, nil
	})
	require.NoError(t, err)
}

func TestAPauseWithALongReasonIsRecordedOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, o := running(t, s)
	long := node.Pause{What: node.PauseOfWorkflow, By: strings.Repeat("ann\x00", 100), Reason: strings.Repeat("ä", 5000)}
	for _, changes := range []bool{true, false} {
		_, err := s.Direct(t.Context(), o.ID, func(n *node.Node) (node.OperationChange, error) {
			require.Equal(t, changes, n.Operation.PauseInTemporal(long, time.Now()))
			return node.OperationChange{}, nil
		})
		require.NoError(t, err)
	}
}

func TestWhoeverIsAtWorkIsToldToRestWhileTheWorkflowIsPaused(t *testing.T) {
	s := open(t)
	_, o := running(t, s)
	for what, want := range map[node.PauseOf]node.Ask{
		node.PauseOfWorkflow: node.AskRest,
		node.PauseOfActivity: node.AskNone, // Temporal tells the worker
	} {
		pauses(t, s, o.ID, what)
		asked, err := s.CheckClaim(t.Context(), o.ID, first)
		require.NoError(t, err)
		require.Equal(t, want, asked)
	}
	_, err := s.AskOperation(t.Context(), o.ID, node.AskCancel, "ann", "")
	require.NoError(t, err)
	asked, err := s.CheckClaim(t.Context(), o.ID, first)
	require.NoError(t, err)
	require.Equal(t, node.AskCancel, asked)
}

// Temporal begins nothing that is paused, but it retries activities that were begun before.
func TestAClaimSaysWhetherAPauseIsOver(t *testing.T) {
	for _, c := range []struct {
		what  node.PauseOf
		claim node.Claim
		over  bool
	}{
		{node.PauseOfWorkflow, node.Claim{Seq: 1, Attempt: 2}, false},
		{node.PauseOfWorkflow, node.Claim{Seq: 2, Attempt: 1}, true},
		{node.PauseOfActivity, node.Claim{Seq: 1, Attempt: 2}, true},
	} {
		s := open(t)
		_, o := running(t, s)
		pauses(t, s, o.ID, c.what)
		n, err := s.Claim(t.Context(), o.ID, "r1", c.claim, time.Time{}, "c2")
		require.NoError(t, err)
		require.Equal(t, c.over, n.Operation.TemporalPause == nil, "%+v", c)
	}
}

// Maintenance begins during a pause in Temporal, and ends later than that.
func TestMaintenanceKeepsTheTimeThatWasLeftWhenThePauseBegan(t *testing.T) {
	s, url := openURL(t)
	joins(t, s, "c1")
	_, o := waitsForAgent(t, s) // for 30 minutes
	began := time.Now().Add(-40 * time.Minute)
	raw(t, url, "UPDATE operations SET waiting_until = waiting_until - interval '40 minutes'")
	_, err := s.Direct(t.Context(), o.ID, func(n *node.Node) (node.OperationChange, error) {
		require.True(t, n.Operation.PauseInTemporal(node.Pause{What: node.PauseOfWorkflow, At: began}, time.Now()))
		return node.OperationChange{}, nil
	})
	require.NoError(t, err)
	require.NoError(t, maintain(t, s, o.NodeUUID, true, "", "ann"))
	_, err = s.Direct(t.Context(), o.ID, func(n *node.Node) (node.OperationChange, error) { // as its workflow does when it goes on
		require.True(t, n.Operation.Resume(time.Now()))
		return node.OperationChange{}, nil
	})
	require.NoError(t, err)
	require.NoError(t, maintain(t, s, o.NodeUUID, false, "", "ann"))
	o, err = s.Block(t.Context(), o.ID, "r1", 0, node.NotBlocked, "", nil)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(30*time.Minute), *o.WaitingUntil, 5*time.Minute)
}

func TestPausedOperationsAreListedAsSuchAndHearNothing(t *testing.T) {
	s, url := openURL(t)
	joins(t, s, "c1")
	_, paused := waitsForAgent(t, s)
	_, kept := waitsForAgent(t, s)
	_, waits := waitsForAgent(t, s)
	require.NoError(t, maintain(t, s, kept.NodeUUID, true, "", "ann"))
	pauses(t, s, paused.ID, node.PauseOfWorkflow)
	listed := func(p node.Phase) (ids []int64) {
		ops, err := s.Operations(t.Context(), node.OperationFilter{Phase: p})
		require.NoError(t, err)
		for _, o := range ops {
			require.Equal(t, p, o.State())
			ids = append(ids, o.ID)
		}
		return ids
	}
	require.Equal(t, []int64{kept.ID, paused.ID}, listed(node.PausedState))
	require.Equal(t, []int64{waits.ID}, listed(node.Waiting))

	dies(t, url, "c1")
	require.NotContains(t, staleWaits(t, s), paused.ID)
	require.Contains(t, staleWaits(t, s), waits.ID)
	_, err := s.AskOperation(t.Context(), paused.ID, node.AskAbort, "ann", "")
	require.NoError(t, err)
	raw(t, url, "UPDATE operations SET asked_at = asked_at - interval '1 minute' WHERE asked <> ''")
	asked, err := s.Asked(t.Context())
	require.NoError(t, err)
	require.Empty(t, asked)

	_, err = s.CloseOperation(t.Context(), node.End{Operation: paused.ID, RunID: "r1", Outcome: node.Cancelled})
	require.NoError(t, err)
	o, err := s.Operation(t.Context(), paused.ID)
	require.NoError(t, err)
	require.Nil(t, o.TemporalPause)
	require.Equal(t, []int64{kept.ID}, listed(node.PausedState))
}
