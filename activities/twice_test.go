package activities_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// The id that the SDK's test environment gives its run.
const run = "default-test-run-id"

// fakeTemporal records what is sent to Temporal. Every workflow has the status that the test sets.
type fakeTemporal struct {
	status node.RunStatus
	starts map[int64]int

	nudged, unpaused []int64
}

func (t *fakeTemporal) Start(_ context.Context, o *node.Operation) error {
	t.starts[o.ID]++
	return nil
}
func (t *fakeTemporal) Cancel(context.Context, *node.Operation, string) error { return nil }
func (t *fakeTemporal) Nudge(_ context.Context, o *node.Operation) error {
	t.nudged = append(t.nudged, o.ID)
	return nil
}

func (t *fakeTemporal) Unpause(_ context.Context, o *node.Operation, _, _ string) error {
	t.unpaused = append(t.unpaused, o.ID)
	return nil
}
func (t *fakeTemporal) Open(context.Context) (map[string]bool, error) { return nil, nil }

func (t *fakeTemporal) Status(context.Context, *node.Operation) (node.RunStatus, error) {
	return t.status, nil
}

// records is a real database with one node, and the activities over it.
type records struct {
	*testing.T
	db       *store.Store
	node     *node.Node
	temporal *fakeTemporal
	ops      *orchestrator.Operations
}

func newRecords(t *testing.T) *records {
	t.Helper()
	url := testenv.Postgres(t)
	db := openStore(t, url)
	connection, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	// The SDK's test environment gives every workflow the same id, which has no suffix.
	_, err = connection.Exec(t.Context(), "ALTER TABLE operations ALTER COLUMN workflow_suffix SET DEFAULT ''")
	require.NoError(t, err)
	require.NoError(t, connection.Close(t.Context()))
	r := &records{T: t, db: db, temporal: &fakeTemporal{starts: map[int64]int{}}}
	r.node = &node.Node{Name: "n1", Driver: "fake-hardware", ProvisionState: node.Available, Interfaces: map[string]string{"power": "fake", "deploy": "fake"}}
	require.NoError(t, db.CreateNode(t.Context(), r.node, nil, "admin"))
	_, err = db.RegisterConductor(t.Context(), coverage.Conductor{Hostname: "c1", Interfaces: map[string]map[string][]string{
		"fake-hardware": {"power": {"fake"}, "deploy": {"fake"}},
	}})
	require.NoError(t, err)
	r.ops = &orchestrator.Operations{
		Store: db, Starter: r.temporal, Describer: r.temporal, Safe: time.Second,
		Policy: orchestrator.Policy{HeartbeatTimeout: 5 * time.Second, WaitForConductor: time.Hour},
	}
	return r
}

// deploying is an open deploy with these steps.
func (r *records) deploying(steps ...node.Step) *node.Operation {
	r.Helper()
	o, err := r.db.Request(r.Context(), r.node.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Move: []node.Event{node.EventDeploy}, Open: &node.Operation{Kind: node.KindDeploy, Target: node.Active, RequestedBy: "admin", Steps: steps}}, nil
	})
	require.NoError(r, err)
	return o
}

// do runs one activity.
func (r *records) do(activity any, args ...any) any {
	r.Helper()
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	env.RegisterActivity(r.ops)
	v, err := env.ExecuteActivity(activity, args...)
	require.NoError(r, err)
	if v == nil || !v.HasValue() {
		return nil
	}
	var out any
	require.NoError(r, v.Get(&out))
	return out
}

// picture returns everything in the database about the operation, its node and the node's history.
type picture struct {
	op     node.Operation
	node   node.Node
	events int
}

func (r *records) picture(id int64) picture {
	r.Helper()
	o, err := r.db.Operation(r.Context(), id)
	require.NoError(r, err)
	n, err := r.db.Node(r.Context(), r.node.UUID)
	require.NoError(r, err)
	events, err := r.db.History(r.Context(), r.node.UUID, node.Page{Limit: 1000})
	require.NoError(r, err)
	n.Operation, o.Version = nil, 0 // the operation is o; a write that changes nothing raises the version, too
	n.UpdatedAt = nil
	return picture{op: *o, node: *n, events: len(events)}
}

// Every activity that uses only the database runs twice on a real one. The second time changes nothing and returns the
// same.
func TestEveryActivityOfTheDatabaseMayRunTwice(t *testing.T) {
	t.Parallel()
	pending := node.Step{Interface: "deploy", Step: "write_image", State: node.StepPending, Source: node.SourceAgent}
	begun := func(r *records, steps ...node.Step) int64 {
		o := r.deploying(steps...)
		_, err := r.db.Begin(r.Context(), o.ID, o.WorkflowID, run)
		require.NoError(r, err)
		_, err = r.db.Claim(r.Context(), o.ID, run, node.Claim{Seq: 1, Attempt: 1}, time.Time{}, "c1")
		require.NoError(r, err)
		return o.ID
	}
	held := func(r *records) int64 {
		id := begun(r, pending)
		r.do(r.ops.Hold, orchestrator.HoldInput{Operation: id, Seq: 2, Error: "no", Wait: time.Hour})
		return id
	}
	cases := map[string]func(r *records) (id int64, activity any, args []any){
		"Begin": func(r *records) (int64, any, []any) {
			id := r.deploying(pending).ID
			return id, r.ops.Begin, []any{id}
		},
		"Look": func(r *records) (int64, any, []any) { id := begun(r, pending); return id, r.ops.Look, []any{id} },
		"Ready": func(r *records) (int64, any, []any) {
			id := begun(r, pending)
			require.NoError(r, r.db.StopConductor(r.Context(), "c1", 1)) // nobody covers the node
			return id, r.ops.Ready, []any{orchestrator.ReadyInput{Operation: id, Seq: 2}}
		},
		"Elsewhere": func(r *records) (int64, any, []any) {
			id := begun(r, pending)
			return id, r.ops.Elsewhere, []any{id, []string{"c2"}}
		},
		"PlanUndo": func(r *records) (int64, any, []any) {
			now := time.Now()
			step := pending
			step.State, step.StartedAt = node.StepRunning, &now
			id := begun(r, step)
			return id, r.ops.PlanUndo, []any{id, node.Failed, node.Failure{Error: "boom", Cause: fault.BMCSilent}}
		},
		"Close": func(r *records) (int64, any, []any) {
			id := begun(r, pending)
			return id, r.ops.Close, []any{orchestrator.EndInput{Operation: id, Outcome: node.Failed, Error: "no"}}
		},
		"StartOperation": func(r *records) (int64, any, []any) {
			id := r.deploying(pending).ID
			return id, r.ops.StartOperation, []any{id}
		},
		"Hold": func(r *records) (int64, any, []any) {
			id := begun(r, pending)
			return id, r.ops.Hold, []any{orchestrator.HoldInput{Operation: id, Seq: 2, Error: "no", Wait: time.Hour}}
		},
		"LookHeld": func(r *records) (int64, any, []any) { id := held(r); return id, r.ops.LookHeld, []any{id} },
		"StandStill": func(r *records) (int64, any, []any) {
			id := held(r)
			return id, r.ops.StandStill, []any{orchestrator.StillInput{Operation: id}}
		},
		"Decide": func(r *records) (int64, any, []any) {
			id := held(r)
			return id, r.ops.Decide, []any{orchestrator.DecideInput{Operation: id, Seq: 3, Action: node.ActionRetry, By: "admin"}}
		},
		"Adopt": func(r *records) (int64, any, []any) {
			id := r.deploying(pending).ID
			_, err := r.db.Begin(r.Context(), id, "", "the run before")
			require.NoError(r, err)
			r.temporal.status = node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Hour)}
			return id, r.ops.Adopt, []any{id}
		},
	}
	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRecords(t)
			id, activity, args := prepare(r)
			before := r.picture(id)
			first := r.do(activity, args...)
			once := r.picture(id)
			second := r.do(activity, args...)
			require.Equal(t, once, r.picture(id), "the second time changes nothing")
			if name != "Adopt" { // the time that it must wait has passed
				require.Equal(t, first, second, "and says the same")
			}
			reads := map[string]bool{"Look": true, "Elsewhere": true, "StartOperation": true, "LookHeld": true}
			require.Equal(t, reads[name], reflect.DeepEqual(before, once), "the first time did something")
		})
	}
	for _, m := range methods(&orchestrator.Operations{}) {
		require.Contains(t, cases, m, "an activity that is not tried twice")
	}
}

// methods are the activities of a value: its exported methods that take a context.
func methods(v any) []string {
	var out []string
	for t, i := reflect.TypeOf(v), 0; i < t.NumMethod(); i++ {
		m := t.Method(i)
		if m.Type.NumIn() > 1 && m.Type.In(1) == reflect.TypeFor[context.Context]() {
			out = append(out, m.Name)
		}
	}
	return out
}
