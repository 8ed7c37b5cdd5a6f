package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// joins registers a conductor that covers the nodes of create.
func joins(t testing.TB, s *store.Store, name string) int64 {
	t.Helper()
	inc, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name, Interfaces: map[string]map[string][]string{
		"fake-hardware": {"power": {"fake"}},
	}})
	require.NoError(t, err)
	return inc
}

// dies changes the row of a conductor as if it had been killed a while ago.
func dies(t testing.TB, url, name string) {
	t.Helper()
	raw(t, url, "UPDATE conductors SET heartbeat_at = heartbeat_at - interval '1 hour', polled_at = polled_at - interval '1 hour' WHERE hostname = $1", name)
}

// waitsForAgent makes a deploy that waits for its agent for half an hour.
func waitsForAgent(t testing.TB, s *store.Store) (*node.Node, *node.Operation) {
	t.Helper()
	n, o := running(t, s)
	until, began := time.Now().Add(30*time.Minute), time.Now()
	steps := []node.Step{{Interface: "deploy", Step: "deploy", State: node.StepWaiting, StartedAt: &began}}
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{
		Steps: steps, Phase: node.Waiting, WaitingFor: "the agent", WaitingUntil: &until, Move: node.EventWait,
	})
	require.NoError(t, err)
	return n, o
}

func watched(t testing.TB, s *store.Store, id int64) (*node.Operation, node.Coverage) {
	t.Helper()
	n, c, err := s.Watch(t.Context(), id)
	require.NoError(t, err)
	return n.Operation, c
}

func staleWaits(t testing.TB, s *store.Store) (ids []int64) {
	t.Helper()
	ops, err := s.StaleWaits(t.Context())
	require.NoError(t, err)
	for _, o := range ops {
		ids = append(ids, o.ID)
	}
	return ids
}

func TestAWatchTellsWhoCouldWorkAndWhoDid(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n, o := running(t, s)
	_, c := watched(t, s, o.ID)
	require.Equal(t, node.Coverage{}, c, "nobody of that name is known")

	inc := joins(t, s, "c1")
	got, c := watched(t, s, o.ID)
	require.Equal(t, "c1", got.Conductor)
	require.Equal(t, node.Coverage{Covered: true, Last: node.LastConductor{Known: true, Alive: true}}, c)

	require.NoError(t, s.DrainConductor(t.Context(), "c1", inc))
	_, c = watched(t, s, o.ID)
	require.Equal(t, node.Coverage{Last: node.LastConductor{Known: true, Alive: true, Draining: true}}, c)
	require.NoError(t, s.StopConductor(t.Context(), "c1", inc))
	_, c = watched(t, s, o.ID)
	require.False(t, c.Last.Alive)
	require.Positive(t, c.Last.StoppedFor)

	joins(t, s, "c1")
	dies(t, url, "c1")
	_, c = watched(t, s, o.ID)
	require.Equal(t, node.Coverage{Last: node.LastConductor{Known: true}}, c)
	joins(t, s, "c2")
	_, c = watched(t, s, o.ID)
	require.Equal(t, node.Coverage{Covered: true, Last: node.LastConductor{Known: true}}, c)

	require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "ann", func(*node.Node) error { return nil }))
	_, _, err := s.Watch(t.Context(), o.ID)
	kind(t, fault.Lost, err)
	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{})
	kind(t, fault.Lost, err)
}

// While an operation is blocked, the time that is left for what it waits for does not pass.
func TestABlockedOperationKeepsTheTimeThatWasLeft(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	_, o := waitsForAgent(t, s)
	require.Equal(t, []int64{o.ID}, staleWaits(t, s), "nobody covers it")
	wait := 15 * time.Minute
	blocked, err := s.Block(t.Context(), o.ID, "r1", 0, node.BlockedNoConductor, "a conductor", &wait)
	require.NoError(t, err)
	require.Equal(t, node.BlockedNoConductor, blocked.Blocked)
	require.Equal(t, node.Waiting, blocked.Phase)
	require.Equal(t, "a conductor", blocked.WaitingFor)
	require.WithinDuration(t, time.Now().Add(wait), *blocked.WaitingUntil, time.Minute)
	require.Equal(t, first, blocked.Claim, "whoever waits for the agent holds nothing")
	require.Empty(t, staleWaits(t, s), "it says what it waits for")

	again, err := s.Block(t.Context(), o.ID, "r1", 0, node.BlockedNoConductor, "a conductor", &wait)
	require.NoError(t, err)
	blocked.Version = again.Version
	require.Equal(t, blocked, again, "again changes nothing")
	_, err = s.Block(t.Context(), o.ID, "r2", 0, node.BlockedNoConductor, "", nil)
	kind(t, fault.Lost, err)

	raw(t, url, "UPDATE operations SET stalled_at = stalled_at - interval '1 day'")
	joins(t, s, "c2")
	require.Equal(t, []int64{o.ID}, staleWaits(t, s), "somebody is back")
	back, err := s.Block(t.Context(), o.ID, "r1", 0, node.NotBlocked, "", nil)
	require.NoError(t, err)
	require.Equal(t, node.Waiting, back.Phase)
	require.Equal(t, "the agent", back.WaitingFor)
	require.WithinDuration(t, time.Now().Add(30*time.Minute), *back.WaitingUntil, time.Minute)
	require.Nil(t, back.BlockedAt)
	require.Empty(t, staleWaits(t, s))
	require.NoError(t, s.GoOn(t.Context(), o.ID, "r1"))
	got, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, node.Running, got.Phase)
	require.Empty(t, got.WaitingFor)
	require.Nil(t, got.WaitingUntil)
}

func TestAnOperationBlockedBeforeItsStepsTakesTheClaim(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, o := running(t, s)
	wait := time.Minute
	got, err := s.Block(t.Context(), o.ID, "r1", 2, node.BlockedNoConductor, "a conductor", &wait)
	require.NoError(t, err)
	require.Equal(t, node.Claim{Seq: 2}, got.Claim)
	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{})
	kind(t, fault.Lost, err)
	got, err = s.Block(t.Context(), o.ID, "r1", 3, node.NotBlocked, "", nil)
	require.NoError(t, err)
	require.Equal(t, node.Running, got.Phase, "its steps go on")
	require.Empty(t, got.WaitingFor)
	require.Nil(t, got.WaitingUntil)
}

func TestMaintenancePausesWhatIsOpen(t *testing.T) {
	s, url := openURL(t)
	joins(t, s, "c1")
	n, o := waitsForAgent(t, s)
	require.Empty(t, staleWaits(t, s))
	told, err := s.SetMaintenance(t.Context(), n.UUID, true, "fan", "ann")
	require.NoError(t, err)
	require.Equal(t, o.ID, told.ID)
	paused, c := watched(t, s, o.ID)
	require.True(t, paused.Paused)
	require.Equal(t, node.PausedForMaintenance, paused.WaitingFor)
	require.Nil(t, paused.WaitingUntil, "its time stands still")
	require.Empty(t, staleWaits(t, s))
	require.False(t, node.Orphaned(paused, c, time.Minute))
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.DeployWait, got.ProvisionState, "clients see the state it was in")
	_, err = s.SetMaintenance(t.Context(), n.UUID, true, "another reason", "ann")
	require.NoError(t, err)

	dies(t, url, "c1")
	joins(t, s, "c2")
	require.Equal(t, []int64{o.ID}, staleWaits(t, s), "its conductor died in it")
	dead, c := watched(t, s, o.ID)
	require.True(t, node.Orphaned(dead, c, time.Minute))
	joins(t, s, "c1")

	_, err = s.UpdateNode(t.Context(), n.UUID, "ann", func(n *node.Node) (node.Secrets, error) { n.Maintenance = false; return nil, nil })
	require.NoError(t, err)
	require.Equal(t, []int64{o.ID}, staleWaits(t, s), "its workflow is to be told")
	lifted, _ := watched(t, s, o.ID)
	require.False(t, lifted.Paused)
	back, err := s.Block(t.Context(), o.ID, "r1", 0, node.BlockReasonOf(lifted, c), "", nil)
	require.NoError(t, err)
	require.Equal(t, "the agent", back.WaitingFor)
	require.WithinDuration(t, time.Now().Add(30*time.Minute), *back.WaitingUntil, time.Minute)
	require.Empty(t, staleWaits(t, s))
}

// A conductor that was killed and restarted at once with the same name was never silent for
// longer than the timeout.
func TestAPausedOperationIsOrphanedByAConductorThatComesBackUnderItsName(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := joins(t, s, "c1")
	n, o := waitsForAgent(t, s)
	orphaned := func() bool {
		paused, c := watched(t, s, o.ID)
		is := node.Orphaned(paused, c, time.Minute)
		require.Equal(t, is, len(staleWaits(t, s)) > 0, "its workflow is to be told")
		return is
	}
	require.NoError(t, maintain(t, s, n.UUID, true, "fan", "ann"))
	require.NoError(t, s.StopConductor(t.Context(), "c1", first))
	joins(t, s, "c1")
	require.False(t, orphaned(), "the one before had stopped in good order")
	joins(t, s, "c2")
	joins(t, s, "c2")
	require.False(t, orphaned(), "another one's death is nothing to it")
	joins(t, s, "c1")
	require.True(t, orphaned(), "it was killed")

	require.NoError(t, maintain(t, s, n.UUID, false, "", "ann"))
	paused, c := watched(t, s, o.ID)
	require.False(t, node.Orphaned(paused, c, time.Minute), "lifted before anybody noticed, it goes on")
	require.NoError(t, maintain(t, s, n.UUID, true, "fan", "ann"))
	require.False(t, orphaned(), "who works on it now lives")
	joins(t, s, "c1")
	require.True(t, orphaned())
	_, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: 9}, time.Time{}, "c2")
	require.NoError(t, err)
	require.False(t, orphaned(), "another one has it by now")
}

func TestAStepIsToldOfThePauseLikeOfAnAsk(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	require.NoError(t, maintain(t, s, n.UUID, true, "", ""))
	ask, err := s.CheckClaim(t.Context(), o.ID, first)
	require.NoError(t, err)
	require.Equal(t, node.AskPause, ask)
	ask, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{})
	require.NoError(t, err)
	require.Equal(t, node.AskPause, ask)
	ask, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{Power: node.PowerOn})
	require.NoError(t, err)
	require.Equal(t, node.AskPause, ask)
	_, err = s.AskOperation(t.Context(), o.ID, node.AskCancel, "ann", "")
	require.NoError(t, err)
	ask, err = s.CheckClaim(t.Context(), o.ID, first)
	require.NoError(t, err)
	require.Equal(t, node.AskCancel, ask, "what somebody asks for comes first")

	require.NoError(t, s.HandOver(t.Context(), o.ID, first, nil, node.Progress{}))
	got, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: 1, Attempt: 2}, time.Time{}, "c2")
	require.NoError(t, err)
	require.True(t, got.Operation.Rests)
	require.True(t, got.Operation.Paused)
	kind(t, fault.Lost, s.HandOver(t.Context(), o.ID, first, nil, node.Progress{}))
}

func TestWhatWasAcceptedInMaintenanceIsNotPaused(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	require.NoError(t, maintain(t, s, n.UUID, true, "", ""))
	o, err := s.Request(t.Context(), n.UUID, deploy)
	require.NoError(t, err)
	require.True(t, o.InMaintenance)
	require.NoError(t, maintain(t, s, n.UUID, false, "", ""))
	require.NoError(t, maintain(t, s, n.UUID, true, "", ""))
	got, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.False(t, got.Paused)
}

func TestWhatFollowsAnOperationIsPausedAsItWas(t *testing.T) {
	t.Parallel()
	s := open(t)
	follows := func(t *testing.T, n *node.Node, o *node.Operation, maintained bool) *node.Operation {
		_, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
			return &node.Request{Steer: &node.Steer{Ask: node.AskDelete, By: "ann"}, Move: []node.Event{node.EventDelete}}, nil
		})
		require.NoError(t, err)
		if maintained {
			require.NoError(t, maintain(t, s, n.UUID, true, "", ""))
		}
		next, err := s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Cancelled})
		require.NoError(t, err)
		return next
	}
	waiting := func(t *testing.T, maintained bool) (*node.Node, *node.Operation) {
		n := create(t, s, node.Available)
		if maintained {
			require.NoError(t, maintain(t, s, n.UUID, true, "", ""))
		}
		o, err := s.Request(t.Context(), n.UUID, deploy)
		require.NoError(t, err)
		_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
		require.NoError(t, err)
		_, err = s.Claim(t.Context(), o.ID, "r1", first, time.Time{}, "c1")
		require.NoError(t, err)
		_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{Move: node.EventWait})
		require.NoError(t, err)
		return n, o
	}

	n, o := waiting(t, false)
	next := follows(t, n, o, true)
	require.True(t, next.Paused, "nobody asked to touch a node in maintenance")
	require.False(t, next.InMaintenance)
	require.NoError(t, maintain(t, s, n.UUID, false, "", ""))
	got, err := s.Operation(t.Context(), next.ID)
	require.NoError(t, err)
	require.False(t, got.Paused, "lifted, it goes on")
	require.NoError(t, maintain(t, s, n.UUID, true, "", ""))
	got, err = s.Operation(t.Context(), next.ID)
	require.NoError(t, err)
	require.True(t, got.Paused)

	n, o = waiting(t, false)
	next = follows(t, n, o, false)
	require.False(t, next.Paused)
	require.False(t, next.InMaintenance)

	n, o = waiting(t, true)
	next = follows(t, n, o, false)
	require.False(t, next.Paused, "all of it was asked for in maintenance")
	require.True(t, next.InMaintenance)
}
