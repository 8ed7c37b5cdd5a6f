package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// taken takes the claim for the next attempt, by that conductor. It returns the conductor that
// had the claim before and died, if there is one.
func taken(t *testing.T, s *store.Store, id int64, c *node.Claim, conductor string) *node.FormerConductor {
	t.Helper()
	c.Attempt++
	n, err := s.Claim(t.Context(), id, "r1", *c, time.Time{}, conductor)
	require.NoError(t, err)
	require.NotNil(t, n.Operation.ClaimedAt)
	return n.Operation.Former
}

func TestWhoeverTakesAClaimIsToldWhoDiedWithIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, o := running(t, s)
	c := node.Claim{Seq: 5}
	c1, _ := joins(t, s, "c1"), joins(t, s, "c2")
	require.Nil(t, taken(t, s, o.ID, &c, "c1"), "nobody is known of the name that had it first")
	claimed, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)

	require.Nil(t, taken(t, s, o.ID, &node.Claim{Seq: 6}, "c1"), "the same process lives")
	before, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.True(t, before.ClaimedAt.After(*claimed.ClaimedAt))
	c = node.Claim{Seq: 7}
	f := taken(t, s, o.ID, &c, "c2")
	require.NotNil(t, f)
	require.Equal(t, "c1", f.Conductor)
	require.Equal(t, c1, f.Incarnation)
	require.Equal(t, *before.ClaimedAt, f.ClaimedAt)
	require.True(t, f.SeenAt.Before(f.ClaimedAt))
	require.False(t, f.Replaced)
	require.False(t, f.Undoing)

	// Another process gets the name before a conductor takes the claim.
	seen, err := s.Conductor(t.Context(), "c2")
	require.NoError(t, err)
	joins(t, s, "c2")
	f = taken(t, s, o.ID, &c, "c2")
	require.NotNil(t, f)
	require.Equal(t, "c2", f.Conductor)
	require.True(t, f.Replaced)
	require.Equal(t, seen.HeartbeatAt, f.SeenAt)

	_, err = s.SaveSteps(t.Context(), o.ID, c, node.Progress{Phase: node.Undoing})
	require.NoError(t, err)
	require.True(t, taken(t, s, o.ID, &c, "c1").Undoing)
}

func TestNobodyDiesWithAClaimOfWhichSomethingCame(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, then := range map[string]func(t *testing.T, id int64, c node.Claim){
		"progress": func(t *testing.T, id int64, c node.Claim) {
			_, err := s.SaveSteps(t.Context(), id, c, node.Progress{Came: true})
			require.NoError(t, err)
			_, err = s.SaveSteps(t.Context(), id, c, node.Progress{})
			require.NoError(t, err)
		},
		"progress of the node": func(t *testing.T, id int64, c node.Claim) {
			_, err := s.SaveSteps(t.Context(), id, c, node.Progress{Came: true, Power: node.PowerOn})
			require.NoError(t, err)
		},
		"handed over": func(t *testing.T, id int64, c node.Claim) {
			require.NoError(t, s.HandOver(t.Context(), id, c, nil, node.Progress{}))
		},
		"directed": func(t *testing.T, id int64, _ node.Claim) {
			_, err := s.Direct(t.Context(), id, func(*node.Node) (node.OperationChange, error) { return node.OperationChange{Came: true}, nil })
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, o := running(t, s)
			c := node.Claim{Seq: 5}
			for _, came := range []bool{false, true} {
				joins(t, s, "c1")
				taken(t, s, o.ID, &c, "c1")
				if came {
					then(t, o.ID, c)
				}
				joins(t, s, "c2")
				require.Equal(t, came, taken(t, s, o.ID, &c, "c2") == nil)
			}
		})
	}
	_, o := running(t, s)
	c := node.Claim{Seq: 5}
	joins(t, s, "c1")
	taken(t, s, o.ID, &c, "c1")
	_, err := s.Direct(t.Context(), o.ID, func(n *node.Node) (node.OperationChange, error) {
		n.Operation.PauseInTemporal(node.Pause{What: node.PauseOfWorkflow, By: "ann"}, time.Now())
		return node.OperationChange{}, nil
	})
	require.NoError(t, err)
	joins(t, s, "c2")
	require.NotNil(t, taken(t, s, o.ID, &c, "c2"), "a pause says nothing about the step")

	inc := joins(t, s, "c3")
	taken(t, s, o.ID, &c, "c3")
	require.NoError(t, s.StopConductor(t.Context(), "c3", inc))
	require.Nil(t, taken(t, s, o.ID, &c, "c2"), "it stopped in good order")
}

func TestADeathThatProvesToBeNoneIsTakenOff(t *testing.T) {
	t.Parallel()
	s := open(t)
	var deaths []node.Death
	for _, name := range []string{"dead", "thawed", "left", "again"} {
		inc := joins(t, s, name)
		k, err := s.Conductor(t.Context(), name)
		require.NoError(t, err)
		deaths = append(deaths, node.Death{Conductor: name, Incarnation: inc, At: k.HeartbeatAt})
	}
	_, err := s.HeartbeatConductor(t.Context(), "thawed", deaths[1].Incarnation, false)
	require.NoError(t, err)
	require.NoError(t, s.StopConductor(t.Context(), "left", deaths[2].Incarnation))
	again := joins(t, s, "again")
	_, err = s.HeartbeatConductor(t.Context(), "again", again, false)
	require.NoError(t, err)
	left, err := s.StillDead(t.Context(), deaths)
	require.NoError(t, err)
	require.Equal(t, []node.Death{deaths[0], deaths[3]}, left)
	require.Len(t, deaths, 4)
	left, err = s.StillDead(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAWatchTellsHowLongAStepIsPutOff(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, o := running(t, s)
	joins(t, s, "c1")
	later := time.Now().Add(time.Hour)
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Steps: []node.Step{{Step: "deploy", State: node.StepRunning, NotBefore: &later}}})
	require.NoError(t, err)
	got, c := watched(t, s, o.ID)
	require.InDelta(t, time.Hour, c.PutOff, float64(time.Minute))
	require.Equal(t, node.BlockedDeaths, node.BlockReasonOf(got, c))

	blocked, err := s.Block(t.Context(), o.ID, "r1", 2, node.BlockedDeaths, "the next try", &c.PutOff)
	require.NoError(t, err)
	require.Equal(t, node.Waiting, blocked.Phase)
	require.WithinDuration(t, later, *blocked.WaitingUntil, time.Minute)
	require.NotContains(t, staleWaits(t, s), o.ID, "its workflow waits as it should")
	got.Paused = true
	require.Equal(t, node.BlockedMaintenance, node.BlockReasonOf(got, c))
	require.Equal(t, node.BlockedNoConductor, node.BlockReasonOf(blocked, node.Coverage{PutOff: time.Hour}))

	later = time.Now().Add(-time.Hour)
	_, err = s.SaveSteps(t.Context(), o.ID, node.Claim{Seq: 2}, node.Progress{Steps: []node.Step{{Step: "deploy", State: node.StepRunning, NotBefore: &later}}})
	require.NoError(t, err)
	_, c = watched(t, s, o.ID)
	require.Zero(t, c.PutOff)
}
