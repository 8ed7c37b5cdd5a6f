package store_test

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestOfFiftyRequestsAtOnceExactlyOneWins(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	var won, refused atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := s.Request(t.Context(), n.UUID, deploy)
			switch {
			case err == nil:
				won.Add(1)
			case fault.Is(err, fault.Conflict):
				refused.Add(1)
				if got := err.Error(); got != node.Locked(&node.Node{UUID: n.UUID}, "operation-"+got[len("Node "+n.UUID+" is locked by host operation-"):len(got)-len(", please retry after the current operation is completed.")]).Error() {
					t.Error("not Ironic's words: ", got)
				}
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
	require.EqualValues(t, 49, refused.Load())
	ops, err := s.Operations(t.Context(), node.OperationFilter{Node: n.Name})
	require.NoError(t, err)
	require.Len(t, ops, 1)
}

func TestAnAcceptedRequestIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	o, err := s.Request(t.Context(), n.Name, func(n *node.Node) (*node.Request, error) {
		r, _ := deploy(n)
		r.Apply = func(n *node.Node) {
			n.LastError = ""
			n.InstanceInfo["image_source"] = "http://x"
			n.ID = 0 // fields that can't be edited are ignored
		}
		return r, nil
	})
	require.NoError(t, err)
	require.Equal(t, node.Accepted, o.Phase)
	require.Equal(t, node.Available, o.Origin)
	require.Equal(t, "fake-hardware", o.Driver)
	require.Regexp(t, "^"+node.WorkflowID(n.UUID, node.KindDeploy, o.ID, "")+"/[0-9a-f]{8}$", o.WorkflowID)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Deploying, got.ProvisionState)
	require.Equal(t, node.Active, got.TargetProvisionState)
	require.Equal(t, "http://x", got.InstanceInfo["image_source"])
	require.Equal(t, o, got.Operation)
	require.Len(t, got.Operation.Steps, 1)
	events, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "deploy accepted", events[0].Event)
	require.Equal(t, o.ID, events[0].Operation)
}

func TestARequestThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Enroll)
	no := errors.New("no")
	for name, decide := range map[string]func(*node.Node) (*node.Request, error){
		"by the caller":        func(*node.Node) (*node.Request, error) { return nil, no },
		"by nobody wanting it": func(*node.Node) (*node.Request, error) { return nil, nil },
		"by the life cycle":    deploy,
		"by a steering of nothing": func(*node.Node) (*node.Request, error) {
			return &node.Request{Steer: &node.Steer{Ask: node.AskAbort}}, nil
		},
		"by a value without a form": func(*node.Node) (*node.Request, error) {
			return &node.Request{Apply: func(n *node.Node) { n.InstanceInfo["f"] = func() {} }}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := s.Request(t.Context(), n.UUID, decide)
			require.Nil(t, o)
			got, err := s.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, node.Enroll, got.ProvisionState)
			require.Nil(t, got.Operation)
		})
	}
}

func TestARequestCanOnlyMove(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	o, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Move: []node.Event{node.EventManage}, User: "me"}, nil
	})
	require.NoError(t, err)
	require.Nil(t, o)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Manageable, got.ProvisionState)
	events, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "from available to manageable", events[0].Event)
	require.Equal(t, "me", events[0].User)
}

func TestSteeringMovesTheNodeAndIsSeenByTheStep(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Move: node.EventWait, Phase: node.Waiting, WaitingFor: "agent"})
	require.NoError(t, err)
	got, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{User: "ann", Steer: &node.Steer{Ask: node.AskDelete, By: "ann", Reason: "not needed"}, Move: []node.Event{node.EventDelete}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, o.ID, got.ID)
	require.Equal(t, node.AskDelete, got.Asked)
	require.NotNil(t, got.AskedAt)
	seen, err := s.CheckClaim(t.Context(), o.ID, first)
	require.NoError(t, err)
	require.Equal(t, node.AskDelete, seen)
	m, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Deleting, m.ProvisionState)
	require.Equal(t, node.Available, m.TargetProvisionState)
}

func TestAskingOfAnOperationByNumber(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	got, err := s.AskOperation(t.Context(), o.ID, node.AskCancel, "ann", "wrong node")
	require.NoError(t, err)
	require.Equal(t, node.AskCancel, got.Asked)
	require.Equal(t, "wrong node", got.AskedReason)
	events, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "asked to cancel: wrong node", events[0].Event)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Cancelled})
	require.NoError(t, err)
	_, err = s.AskOperation(t.Context(), o.ID, node.AskCancel, "ann", "")
	kind(t, fault.Conflict, err)
	_, err = s.AskOperation(t.Context(), 4711, node.AskCancel, "ann", "")
	kind(t, fault.NotFound, err)
}

func TestAnAskToEndSurvivesTheTakingUpOfAnother(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, o := running(t, s)
	_, err := s.AskOperation(t.Context(), o.ID, node.AskPower, "ann", "")
	require.NoError(t, err)
	asked, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{ClearAsk: true})
	require.NoError(t, err)
	require.Empty(t, asked)
	_, err = s.AskOperation(t.Context(), o.ID, node.AskCancel, "ann", "")
	require.NoError(t, err)
	asked, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{ClearAsk: true})
	require.NoError(t, err)
	require.Equal(t, node.AskCancel, asked)
}

func TestOperationsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	_, err := s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: "x"})
	require.NoError(t, err)
	again, err := s.Request(t.Context(), n.UUID, deploy)
	require.NoError(t, err)
	_, other := running(t, s)
	ids := func(f node.OperationFilter) (out []int64) {
		ops, err := s.Operations(t.Context(), f)
		require.NoError(t, err)
		for _, o := range ops {
			out = append(out, o.ID)
		}
		return out
	}
	require.Equal(t, []int64{other.ID, again.ID, o.ID}, ids(node.OperationFilter{}))
	require.Equal(t, []int64{again.ID, o.ID}, ids(node.OperationFilter{Node: n.Name}))
	require.Equal(t, []int64{o.ID}, ids(node.OperationFilter{Phase: node.Ended}))
	require.Equal(t, []int64{again.ID}, ids(node.OperationFilter{Phase: node.Accepted, Kind: node.KindDeploy}))
	require.Equal(t, []int64{again.ID}, ids(node.OperationFilter{Limit: 1, Marker: other.ID}))
	require.Empty(t, ids(node.OperationFilter{Kind: node.KindPower}))
	_, err = s.Operations(t.Context(), node.OperationFilter{Node: "nobody"})
	kind(t, fault.NotFound, err)
}

func TestOperationsAreFoundByConductorAndAge(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	var all []int64
	for i := range 3 {
		_, o := running(t, s)
		all = append(all, o.ID)
		raw(t, url, `UPDATE operations SET accepted_at = now() - $1 * interval '1 hour', conductor = $2 WHERE id = $3`, 2-i, fmt.Sprintf("c%d", i%2), o.ID)
	}
	// Accepted in a transaction that began before the one with the smaller id.
	raw(t, url, `UPDATE operations SET accepted_at = now() - interval '1 hour 1 minute' WHERE id = $1`, all[2])
	for name, c := range map[string]struct {
		f    node.OperationFilter
		want []int64
	}{
		"of a conductor":             {node.OperationFilter{Conductor: "c0"}, []int64{all[2], all[0]}},
		"of another":                 {node.OperationFilter{Conductor: "c9"}, nil},
		"since before all":           {node.OperationFilter{Since: time.Now().Add(-3 * time.Hour)}, []int64{all[2], all[1], all[0]}},
		"since after the first":      {node.OperationFilter{Since: time.Now().Add(-90 * time.Minute)}, []int64{all[2], all[1]}},
		"since between, not by id":   {node.OperationFilter{Since: time.Now().Add(-time.Hour - 30*time.Second)}, []int64{all[1]}},
		"since after all":            {node.OperationFilter{Since: time.Now().Add(time.Hour)}, nil},
		"of a conductor, since then": {node.OperationFilter{Conductor: "c0", Since: time.Now().Add(-90 * time.Minute)}, []int64{all[2]}},
	} {
		var got []int64
		ops, err := s.Operations(t.Context(), c.f)
		require.NoError(t, err)
		for i := range ops {
			got = append(got, ops[i].ID)
		}
		require.Equal(t, c.want, got, name)
	}
}

func TestReconciliationFindsWhatItMustLookAt(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	fresh, err := s.Request(t.Context(), create(t, s, node.Available).UUID, deploy)
	require.NoError(t, err)
	_, begun := running(t, s)
	none, err := s.NotBegun(t.Context(), time.Hour, 10)
	require.NoError(t, err)
	require.Empty(t, none)
	waiting, err := s.NotBegun(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	require.Equal(t, fresh.ID, waiting[0].ID)
	runs, err := s.OpenRuns(t.Context(), 10, 0)
	require.NoError(t, err)
	require.Equal(t, []node.OpenRun{{Operation: begun.ID, RunID: "r1"}}, runs)
	runs, err = s.OpenRuns(t.Context(), 10, begun.ID)
	require.NoError(t, err)
	require.Empty(t, runs)
	ops, err := s.OpenOperations(t.Context(), []int64{begun.ID, begun.ID + 1000})
	require.NoError(t, err)
	require.Len(t, ops, 1)
	require.Equal(t, begun.ID, ops[0].ID)

	missing, err := s.MarkMissing(t.Context(), []int64{begun.ID}, time.Minute)
	require.NoError(t, err)
	require.Len(t, missing, 1)
	require.Less(t, missing[0].For, time.Minute)
	raw(t, url, "UPDATE operations SET missing_since = missing_since - interval '1 hour' WHERE missing_since IS NOT NULL")
	missing, err = s.MarkMissing(t.Context(), []int64{begun.ID}, time.Minute)
	require.NoError(t, err)
	require.Greater(t, missing[0].For, time.Hour, "it counts from the first time")
	require.NoError(t, s.ClearMissing(t.Context(), []int64{begun.ID}))
	missing, err = s.MarkMissing(t.Context(), []int64{begun.ID}, time.Minute)
	require.NoError(t, err)
	require.Less(t, missing[0].For, time.Minute)

	_, err = s.AskOperation(t.Context(), begun.ID, node.AskCancel, "ann", "")
	require.NoError(t, err)
	asked, err := s.Asked(t.Context())
	require.NoError(t, err)
	require.Empty(t, asked, "the one who asked is given time to tell the workflow")
	raw(t, url, "UPDATE operations SET asked_at = asked_at - interval '1 hour' WHERE asked_at IS NOT NULL")
	asked, err = s.Asked(t.Context())
	require.NoError(t, err)
	require.Len(t, asked, 1)
	raw(t, url, "UPDATE operations SET asked = 'power', phase = 'holding' WHERE asked_at IS NOT NULL")
	asked, err = s.Asked(t.Context())
	require.NoError(t, err)
	require.Empty(t, asked, "nobody could do it: the workflow would only note that it was told, every few seconds")

	raw(t, url, "UPDATE operations SET phase = 'waiting' WHERE id = "+strconv.FormatInt(begun.ID, 10))
	called, err := s.MissedCallbacks(t.Context())
	require.NoError(t, err)
	require.Empty(t, called, "no agent has called")
	raw(t, url, "INSERT INTO agents (node_id, first_heartbeat_at) SELECT node_id, clock_timestamp() FROM operations WHERE id = "+strconv.FormatInt(begun.ID, 10))
	called, err = s.MissedCallbacks(t.Context())
	require.NoError(t, err)
	require.Empty(t, called, "the API is given time to tell the workflow")
	raw(t, url, "UPDATE agents SET first_heartbeat_at = first_heartbeat_at - interval '1 hour'")
	called, err = s.MissedCallbacks(t.Context())
	require.NoError(t, err)
	require.Len(t, called, 1)
	require.Equal(t, begun.ID, called[0].ID)
}

func TestAnAbortIsNotRepeatedWhileItsStepWaitsForTheAgent(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	_, o := running(t, s)
	steps := []node.Step{{Interface: "deploy", Step: "prepare", State: node.StepDone, Abortable: true}, {Interface: "bios", Step: "apply", State: node.StepWaiting}}
	repeated := func(steps []node.Step) int {
		_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Phase: node.Waiting, Steps: steps})
		require.NoError(t, err)
		asked, err := s.Asked(t.Context())
		require.NoError(t, err)
		return len(asked)
	}
	_, err := s.AskOperation(t.Context(), o.ID, node.AskAbort, "ann", "")
	require.NoError(t, err)
	raw(t, url, "UPDATE operations SET asked_at = asked_at - interval '1 hour' WHERE asked_at IS NOT NULL")
	require.Zero(t, repeated(steps), "each word would only stay in the workflow's history")
	steps[1].Abortable = true
	require.Equal(t, 1, repeated(steps))
	steps[1].Abortable, steps[1].State = false, node.StepDone
	require.Equal(t, 1, repeated(steps), "no step is left to wait for")
	steps[1].State = node.StepWaiting
	require.Zero(t, repeated(steps))
	raw(t, url, "UPDATE operations SET asked = 'cancel' WHERE asked_at IS NOT NULL")
	require.Equal(t, 1, repeated(steps))
}
