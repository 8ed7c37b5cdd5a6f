package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func TestARequestToABMCIsToldToTheNextClaimOfItsNode(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	require.Nil(t, n.Operation.InFlight)
	require.Zero(t, n.Operation.AnswerWithin)
	_, err := s.StartRequest(t.Context(), o.ID, o.Claim, node.BMCRequest{Name: "power On", Left: time.Hour, AnswerWithin: 8 * time.Second})
	require.NoError(t, err)
	claim := func(o *node.Operation, seq int64) *node.Operation {
		n, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: seq, Attempt: 1}, time.Time{}, "c2")
		require.NoError(t, err)
		return n.Operation
	}
	next := claim(o, 2)
	require.Equal(t, "power On", next.InFlight.Name)
	require.Equal(t, "c1", next.InFlight.Conductor)
	require.Greater(t, next.InFlight.Left, 59*time.Minute)
	require.Equal(t, 8*time.Second, next.AnswerWithin)
	_, err = s.StartRequest(t.Context(), o.ID, o.Claim, node.BMCRequest{Name: "power ForceOff", Left: time.Hour})
	kind(t, fault.Lost, err)

	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: "x"})
	require.NoError(t, err)
	other, err := s.Request(t.Context(), n.UUID, deploy)
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), other.ID, other.WorkflowID, "r1")
	require.NoError(t, err)
	third := claim(other, 1)
	require.Equal(t, "power On", third.InFlight.Name, "it was sent for another operation of the node")

	for _, p := range []node.Progress{{}, {Power: node.PowerOn}} { // the two statements of a save
		p.InFlight, p.AnswerWithin = &node.BMCRequest{}, 16*time.Second
		_, err = s.SaveSteps(t.Context(), other.ID, third.Claim, p)
		require.NoError(t, err)
		third = claim(other, third.Claim.Seq+1)
		require.Nil(t, third.InFlight, "it was answered")
		require.Equal(t, 16*time.Second, third.AnswerWithin)
		_, err = s.StartRequest(t.Context(), other.ID, third.Claim, node.BMCRequest{Name: "power On", Left: time.Hour, AnswerWithin: time.Second})
		require.NoError(t, err)
		_, err = s.SaveSteps(t.Context(), other.ID, third.Claim, node.Progress{})
		require.NoError(t, err)
		third = claim(other, third.Claim.Seq+1)
		require.NotNil(t, third.InFlight, "a save that knows nothing of it leaves it")
	}
}

// A conductor that is about to send a request holds the lock of its operation for a moment. A claim that waits for the lock
// learns of the request, although its statement began before the request was recorded.
func TestAClaimLearnsOfARequestThatIsBeingRecorded(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	_, o := running(t, s)
	beside, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = beside.Close(t.Context()) }()
	tx, err := beside.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), store.StartRequestSQL, pgx.StrictNamedArgs{
		"id": o.ID, "seq": o.Claim.Seq, "attempt": o.Claim.Attempt, "request": "power On", "repeated": false, "left": time.Hour.Microseconds(), "answer_within": 0,
	})
	require.NoError(t, err)
	claimed := make(chan *node.Operation, 1)
	go func() {
		defer close(claimed)
		if n, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: 2, Attempt: 1}, time.Time{}, "c2"); err == nil {
			claimed <- n.Operation
		}
	}()
	waitsForALock(t, tx)
	require.NoError(t, tx.Commit(t.Context()))
	next := <-claimed
	require.NotNil(t, next)
	require.NotNil(t, next.InFlight)
	require.Equal(t, "power On", next.InFlight.Name)
}

func TestAHandOverTellsThatTheLastRequestWasAnswered(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, o := running(t, s)
	sent := node.BMCRequest{Name: "power On", Left: time.Hour, AnswerWithin: 8 * time.Second}
	next := func(seq int64) *node.Operation {
		n, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: seq, Attempt: 1}, time.Time{}, "c2")
		require.NoError(t, err)
		return n.Operation
	}
	_, err := s.StartRequest(t.Context(), o.ID, o.Claim, sent)
	require.NoError(t, err)
	require.NoError(t, s.HandOver(t.Context(), o.ID, o.Claim, nil, node.Progress{}))
	second := next(2)
	require.NotNil(t, second.InFlight, "who knows nothing of it leaves it")
	require.NoError(t, s.HandOver(t.Context(), o.ID, second.Claim, nil, node.Progress{InFlight: &node.BMCRequest{}, AnswerWithin: 16 * time.Second}))
	third := next(3)
	require.Nil(t, third.InFlight)
	require.Equal(t, 16*time.Second, third.AnswerWithin)
}
