package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/activities/reconcile"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// archive is a database with open operations, and Temporal beside it.
type archive struct {
	orchestrator.OperationStore // nil: methods that no test needs panic
	reconcile.Store             // likewise

	notBegun, begun []node.Operation
	asked           []node.Operation
	listed          map[string]bool // ids of runs, and of workflows, that Temporal lists as open
	listFails       error
	described       int
	missing         map[int64]time.Duration // for how long Temporal has not known it, for MarkMissing
	workflows       map[string]node.RunStatus
	unreadable      []string // the workflows for which Temporal returns an error
	refuses         error    // Temporal's error for starts, cancels and nudges
	only            int64    // refuses only for this operation; 0 = for all

	missedCallbacks, staleWaits []node.Operation
	owing                       []node.Operation // undos that are due
	said                        string           // who has reported that Temporal lost its data

	started, cancelled, nudged []int64
	closed                     []node.End
}

func (a *archive) NotBegun(context.Context, time.Duration, int) ([]node.Operation, error) {
	return a.notBegun, nil
}

func (a *archive) OpenRuns(_ context.Context, _ int, after int64) (out []node.OpenRun, err error) {
	for _, o := range a.begun {
		if after == 0 {
			out = append(out, node.OpenRun{Operation: o.ID, RunID: o.RunID, Paused: o.TemporalPause != nil})
		}
	}
	return out, nil
}

func (a *archive) OpenOperations(_ context.Context, ids []int64) (out []node.Operation, err error) {
	for _, o := range a.begun {
		if slices.Contains(ids, o.ID) {
			out = append(out, o)
		}
	}
	return out, nil
}

func (a *archive) Asked(context.Context) ([]node.Operation, error) { return a.asked, nil }
func (a *archive) MissedCallbacks(context.Context) ([]node.Operation, error) {
	return a.missedCallbacks, nil
}

func (a *archive) StaleWaits(context.Context) ([]node.Operation, error) { return a.staleWaits, nil }
func (a *archive) ClearMissing(context.Context, []int64) error          { return nil }
func (a *archive) ForgetMissing(context.Context) error                  { return nil }
func (a *archive) SetUndo(context.Context, int64, string, []node.Undo, node.Failure) error {
	return nil
}

func (a *archive) Quarantine(context.Context) (coverage.QuarantineTick, error) {
	return coverage.QuarantineTick{}, nil
}

func (a *archive) FailStranded(context.Context, time.Duration) (int, error) {
	return 0, nil
}

func (a *archive) SaidLostTemporal(context.Context, time.Duration) (string, error) {
	return a.said, nil
}

func (a *archive) OpenUndos(_ context.Context, steps []node.Step, _ string, _ time.Duration, _ int) ([]node.Operation, error) {
	for i := range a.owing {
		a.owing[i].Steps = steps
	}
	return a.owing, nil
}

func (a *archive) MarkMissing(_ context.Context, ids []int64, _ time.Duration) ([]node.MissingWorkflow, error) {
	var out []node.MissingWorkflow
	for _, id := range ids {
		out = append(out, node.MissingWorkflow{Operation: node.Operation{ID: id}, For: a.missing[id]})
	}
	return out, nil
}

func (a *archive) CloseOperation(_ context.Context, end node.End) (*node.Operation, error) {
	a.closed = append(a.closed, end)
	return nil, nil
}

func (a *archive) Start(_ context.Context, o *node.Operation) error {
	a.started = append(a.started, o.ID)
	return a.refused(o)
}

func (a *archive) Cancel(_ context.Context, o *node.Operation, _ string) error {
	a.cancelled = append(a.cancelled, o.ID)
	return a.refused(o)
}

func (a *archive) Nudge(_ context.Context, o *node.Operation) error {
	a.nudged = append(a.nudged, o.ID)
	return a.refused(o)
}

func (a *archive) Unpause(context.Context, *node.Operation, string, string) error { return nil }

func (a *archive) refused(o *node.Operation) error {
	if a.only == 0 || a.only == o.ID {
		return a.refuses
	}
	return nil
}

func (a *archive) Status(_ context.Context, o *node.Operation) (node.RunStatus, error) {
	a.described++
	if slices.Contains(a.unreadable, o.WorkflowID) {
		return node.RunStatus{}, errors.New("its history can't be read")
	}
	return a.workflows[o.WorkflowID], nil
}

func (a *archive) Fleet(context.Context) (*coverage.Fleet, error) { return &coverage.Fleet{}, nil }

func (a *archive) RingNodes(context.Context, []int64) ([]coverage.RingNode, error) { return nil, nil }
func (a *archive) WriteEpoch(context.Context, coverage.Epoch) (int64, error)       { return 0, nil }
func (a *archive) Reconciled(context.Context) error                                { return nil }

func (a *archive) ForgetDeleted(context.Context, time.Duration) (int, error) { return 0, nil }

func (a *archive) AddUpNodeCounts(context.Context) (int, error) { return 0, nil }

func (a *archive) ForgetRequests(context.Context) (int, error) { return 0, nil }

func (a *archive) ForgetEvents(context.Context, time.Duration, int) (int, error) { return 0, nil }

func (a *archive) KeepAudit(context.Context, time.Duration, int) (int, error) { return 0, nil }

func (a *archive) ForgetTokens(context.Context, time.Duration) error { return nil }

func (a *archive) LearnTimes(context.Context) (int, []int64, error)       { return 0, nil, nil }
func (a *archive) ForgetOperations(context.Context, []int64) (int, error) { return 0, nil }

func (a *archive) Open(context.Context) (map[string]bool, error) { return a.listed, a.listFails }

func (a *archive) tick(t *testing.T) (reconcile.TickResult, error) {
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	r := &reconcile.Reconciler{
		Store: a, Ring: a, Operations: a, Starter: a, Controller: a, Describer: a,
		Shares: stillShares{}, Instances: stillShares{}, Safe: 9 * time.Second, SayLost: "somebody says so", Log: zap.NewNop(),
	}
	env.RegisterActivity(r.Tick)
	v, err := env.ExecuteActivity(r.Tick)
	if err != nil {
		return reconcile.TickResult{}, err
	}
	var out reconcile.TickResult
	require.NoError(t, v.Get(&out))
	return out, nil
}

// stillShares are shares and instances for which nothing has to be done.
type stillShares struct{ reconcile.InstanceStore }

func (stillShares) SharesStale(context.Context) (bool, error) { return false, nil }
func (stillShares) PublishShares(context.Context, int64, func(share.State) []share.Row) (share.Published, error) {
	return share.Published{}, nil
}

func (stillShares) HandOverShares(context.Context, time.Duration) (share.Published, error) {
	return share.Published{}, nil
}
func (stillShares) SweepInstances(context.Context) error { return nil }
func (stillShares) Orphans(context.Context, time.Duration, int) ([]share.Orphan, error) {
	return nil, nil
}

func operation(id int64) node.Operation {
	return node.Operation{ID: id, NodeUUID: uuid, Kind: node.KindDeploy, WorkflowID: node.WorkflowID(uuid, node.KindDeploy, id, "")}
}

func TestAnOperationWhoseWorkflowEndedBeforeItBeganIsClosed(t *testing.T) {
	t.Parallel()
	o := operation(7)
	for name, c := range map[string]struct {
		status node.RunStatus
		closed int
	}{
		"terminated":               {node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Minute)}, 1},
		"terminated just now":      {node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now()}, 0},
		"started, not yet at work": {node.RunStatus{Known: true, Open: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := &archive{notBegun: []node.Operation{o}, workflows: map[string]node.RunStatus{o.WorkflowID: c.status}}
			out, err := a.tick(t)
			require.NoError(t, err)
			require.Equal(t, []int64{7}, a.started)
			require.Len(t, a.closed, c.closed)
			require.Equal(t, c.closed, out.Recovered)
		})
	}
}

func TestOfManyThatWaitForTheirFirstTaskFewAreAskedAbout(t *testing.T) {
	t.Parallel()
	a := &archive{workflows: map[string]node.RunStatus{}, listed: map[string]bool{}}
	for id := int64(1); id <= 320; id++ {
		o := operation(id)
		a.notBegun = append(a.notBegun, o)
		a.workflows[o.WorkflowID] = node.RunStatus{Known: true, Open: true}
		a.listed[o.WorkflowID] = id > 1
	}
	_, err := a.tick(t)
	require.NoError(t, err)
	require.Contains(t, a.started, int64(1), "Temporal does not list it")
	require.LessOrEqual(t, len(a.started), 11, "the one that is not listed, and a 32nd of the others")
	require.GreaterOrEqual(t, len(a.started), 10)
	require.Equal(t, len(a.started), a.described)
}

func TestManyOperationsThatTemporalForgotAtOnceAreClosedOnlyAfterTenMinutes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		missing, known int
		since          time.Duration
		closed         int
		alarm          bool
		said           string
	}{
		"a few are closed when nothing of them can act":  {missing: 3, since: 10 * time.Second, closed: 3},
		"a few that are missing since a moment wait":     {missing: 3, since: time.Second},
		"many raise the alarm and wait":                  {missing: 50, since: 9 * time.Minute, alarm: true},
		"many that are missing for ten minutes are lost": {missing: 50, since: 11 * time.Minute, closed: 50, alarm: true},
		"many of which somebody says that they are lost": {missing: 50, since: 10 * time.Second, closed: 50, alarm: true, said: "ann"},
		"many of very many are no mass loss":             {missing: 10, known: 90, since: time.Minute, closed: 10},
	} {
		t.Run(name, func(t *testing.T) {
			a := &archive{workflows: map[string]node.RunStatus{}, missing: map[int64]time.Duration{}, said: c.said}
			for id := int64(1); id <= int64(c.missing+c.known); id++ {
				o := operation(id)
				a.begun = append(a.begun, o)
				a.missing[id] = c.since
				if id > int64(c.missing) {
					a.workflows[o.WorkflowID] = node.RunStatus{Known: true, Open: true}
				}
			}
			out, err := a.tick(t)
			require.NoError(t, err)
			require.Len(t, a.closed, c.closed)
			require.Equal(t, c.alarm, out.Alarm != "")
		})
	}
}

func TestAStartThatTemporalRefusesKeepsNoOrphanOpen(t *testing.T) {
	t.Parallel()
	lost := operation(8)
	a := &archive{
		notBegun: []node.Operation{operation(7)}, begun: []node.Operation{lost}, asked: []node.Operation{{ID: 9, Asked: node.AskCancel}},
		refuses:   errors.New("no mapping defined for search attribute TemperNodeID"),
		workflows: map[string]node.RunStatus{lost.WorkflowID: {Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Minute)}},
	}
	_, err := a.tick(t)
	require.ErrorContains(t, err, "search attribute", "the tick says what failed")
	require.Equal(t, []int64{9}, a.cancelled)
	require.Len(t, a.closed, 1)
}

func TestAnOperationThatCannotBeToldKeepsNoOtherFromIt(t *testing.T) {
	t.Parallel()
	ask := func(id int64, a node.Ask) node.Operation {
		o := operation(id)
		o.Asked, o.Phase = a, node.Waiting
		return o
	}
	a := &archive{
		notBegun: []node.Operation{operation(1), operation(2)}, asked: []node.Operation{ask(1, node.AskCancel), ask(2, node.AskCancel)},
		missedCallbacks: []node.Operation{operation(1), operation(2)}, staleWaits: []node.Operation{operation(1), operation(3)},
		owing: []node.Operation{operation(1), operation(4)}, refuses: errors.New("its history is too long"), only: 1,
		workflows: map[string]node.RunStatus{},
	}
	_, err := a.tick(t)
	require.ErrorContains(t, err, "its history is too long")
	require.Equal(t, []int64{1, 2, 1, 4}, a.started)
	require.Equal(t, []int64{1, 2}, a.cancelled)
	require.Equal(t, []int64{1, 2, 1, 3}, a.nudged)
}

func TestAWorkflowThatTemporalCannotReadKeepsNoOrphanOpen(t *testing.T) {
	t.Parallel()
	for _, unreadable := range []int64{1, 40} {
		a := &archive{workflows: map[string]node.RunStatus{}}
		for id := int64(1); id <= unreadable+1; id++ {
			a.begun = append(a.begun, operation(id))
			a.unreadable = append(a.unreadable, a.begun[id-1].WorkflowID)
		}
		lost := a.begun[unreadable]
		a.unreadable = a.unreadable[:unreadable]
		a.workflows[lost.WorkflowID] = node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Minute)}
		_, err := a.tick(t)
		require.ErrorContains(t, err, "its history can't be read", "the tick says so")
		require.Less(t, strings.Count(err.Error(), "its history can't be read"), 6, "in few words")
		require.Len(t, a.closed, 1)
		require.Equal(t, lost.ID, a.closed[0].Operation)
	}
}

func TestAWorkflowThatIsNotKnownToHaveClosedKeepsItsOperationOpen(t *testing.T) {
	t.Parallel()
	for name, st := range map[string]node.RunStatus{
		"paused":                 {Known: true, Open: true},
		"closed, not known when": {Known: true, How: "terminated"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &archive{begun: []node.Operation{operation(1)}, notBegun: []node.Operation{operation(2)}, workflows: map[string]node.RunStatus{}}
			a.workflows[a.begun[0].WorkflowID], a.workflows[a.notBegun[0].WorkflowID] = st, st
			_, err := a.tick(t)
			require.NoError(t, err)
			require.Empty(t, a.closed)
		})
	}
}

func TestATickThatTemporalRefusesEverythingGivesUpSoon(t *testing.T) {
	t.Parallel()
	a := &archive{refuses: errors.New("away"), workflows: map[string]node.RunStatus{}}
	for id := range int64(100) {
		a.missedCallbacks = append(a.missedCallbacks, operation(id+1))
	}
	_, err := a.tick(t)
	require.ErrorContains(t, err, "away")
	require.Len(t, a.nudged, 5)
}

// Temporal was away when the agent's heartbeat came, so the workflow got no signal.
func TestAnAgentsCallThatWasNotToldIsTold(t *testing.T) {
	t.Parallel()
	a := &archive{missedCallbacks: []node.Operation{operation(7)}}
	out, err := a.tick(t)
	require.NoError(t, err)
	require.Equal(t, []int64{7}, a.nudged)
	require.Equal(t, 1, out.Nudged)
}

func TestAsksAreRepeatedToWorkflowsThatRest(t *testing.T) {
	t.Parallel()
	waiting, running := operation(7), operation(8)
	waiting.Asked, waiting.Phase = node.AskPower, node.Waiting
	running.Asked, running.Phase = node.AskAbort, node.Running
	a := &archive{asked: []node.Operation{waiting, running}}
	_, err := a.tick(t)
	require.NoError(t, err)
	require.Equal(t, []int64{7}, a.nudged)
}

func TestWithManyOpenOperationsOnlyThoseThatLookLostAreDescribed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails     error
		described int
	}{
		"as a rule":                     {nil, 1},
		"without the list all of them ": {errors.New("visibility is away"), 320},
	} {
		t.Run(name, func(t *testing.T) {
			a := &archive{workflows: map[string]node.RunStatus{}, listed: map[string]bool{}, listFails: c.fails}
			for id := int64(1); id <= 320; id++ {
				o := operation(id)
				o.RunID = fmt.Sprint("run-", id)
				a.begun = append(a.begun, o)
				a.workflows[o.WorkflowID] = node.RunStatus{Known: true, Open: true}
				if c.fails == nil {
					a.listed[o.RunID] = true
				}
			}
			lost := a.begun[100]
			delete(a.listed, lost.RunID)
			a.workflows[lost.WorkflowID] = node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Minute)}
			_, err := a.tick(t)
			require.NoError(t, err)
			require.Len(t, a.closed, 1)
			require.Equal(t, lost.ID, a.closed[0].Operation)
			// In addition, every 32nd of those that are listed is described.
			require.InDelta(t, c.described, a.described, 13)
		})
	}
}
