package orphans_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// many is the number of lost workflows from which on Temporal is assumed to have lost its data.
const many = 12

// bereft opens deploys whose workflows Temporal does not know, because it has lost its data, and one that it knows.
func bereft(t *testing.T) (w *world, lostOnes []*orphan, known *orphan) {
	t.Helper()
	w = newWorld(t)
	for i := range many {
		o := &orphan{state: node.Deploying, what: lost, owner: "dead", cover: covers[i%2]}
		w.leave(o)
		lostOnes = append(lostOnes, o)
	}
	known = &orphan{state: node.Deploying, what: alive, owner: "dead", cover: covers[0]}
	w.leave(known)
	return w, lostOnes, known
}

// passes moves the time at which the workflows were first missed back, as if ticks had continued meanwhile.
func (w *world) passes(d time.Duration) {
	w.Helper()
	w.sql(`UPDATE operations SET missing_since = missing_since - $1 * interval '1 microsecond'`, d.Microseconds())
}

// recovered runs a tick after which so many of the lost operations must have ended; alarms: the tick must report a mass
// loss.
func (w *world) recovered(want int, alarms bool, why string) {
	w.Helper()
	out, err := w.ticked()
	require.NoError(w, err)
	require.Equal(w, want, out.Recovered, why)
	require.Equal(w, alarms, out.Alarm != "", "%s: %s", why, out.Alarm)
}

func TestManyThatTemporalHasLostWaitForTenMinutes(t *testing.T) {
	w, lostOnes, known := bereft(t)
	w.recovered(0, true, "it may be back in a moment")
	w.passes(9*time.Minute + 50*time.Second)
	w.recovered(0, true, "not yet ten minutes")
	n, err := w.Node(t.Context(), lostOnes[0].uuid)
	require.NoError(t, err)
	require.Equal(t, node.Deploying, n.ProvisionState)
	require.NotNil(t, n.Operation)

	w.passes(15 * time.Second)
	w.recovered(many, true, "ten minutes are over")
	for _, o := range lostOnes {
		n, err := w.Node(t.Context(), o.uuid)
		require.NoError(t, err)
		require.Equal(t, node.DeployFailed, n.ProvisionState)
		require.Contains(t, n.LastError, fmt.Sprintf("The workflow of operation %d of node %s was lost by Temporal", o.op, o.uuid))
		require.Contains(t, n.Owed, node.UndoEjectMedia)
	}
	n, err = w.Node(t.Context(), known.uuid)
	require.NoError(t, err)
	require.Equal(t, known.op, n.Operation.ID, "what Temporal knows goes on")
	w.recovered(0, false, "nothing is left")
}

func TestManyThatTemporalHasLostAreEndedOnSomebodysWord(t *testing.T) {
	w, _, _ := bereft(t)
	w.recovered(0, true, "nobody has said anything")
	require.NoError(t, w.SayLostTemporal(t.Context(), "ada", "restored from yesterday"))
	w.recovered(0, true, "something of them may still act")
	w.passes(safe + time.Second)
	w.recovered(many, true, "she has said so")

	w, _, _ = bereft(t)
	require.NoError(t, w.SayLostTemporal(t.Context(), "ada", "restored from yesterday"))
	w.sql("UPDATE lost_temporal SET said_at = said_at - interval '11 minutes'")
	w.recovered(0, true, "")
	w.passes(safe + time.Second)
	w.recovered(0, true, "that was about another loss")
}

// The ten minutes count only while Temporal answers and reconciliation runs.
func TestTheTenMinutesAreOfATemporalThatAnswers(t *testing.T) {
	w, lostOnes, _ := bereft(t)
	w.recovered(0, true, "")
	w.passes(9 * time.Minute)
	w.temporal.away = errors.New("connection refused")
	_, err := w.ticked()
	require.ErrorContains(t, err, "connection refused")
	w.temporal.away = nil
	w.passes(2 * time.Minute)
	w.recovered(0, true, "it was away in between")
	w.passes(9 * time.Minute)
	w.recovered(0, true, "and has not answered for ten minutes since")

	w.passes(time.Hour)
	w.sql("UPDATE ring_epoch SET reconciled_at = reconciled_at - interval '1 hour'")
	w.recovered(0, true, "no orchestrator was there to ask")
	w.passes(9 * time.Minute)
	for _, o := range lostOnes[:many-few] {
		w.temporal.status[o.workflow] = node.RunStatus{Known: true, Open: true}
	}
	w.recovered(few, false, "some are back: the rest is no mass loss any more")
}
