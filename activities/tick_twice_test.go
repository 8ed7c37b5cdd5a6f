package activities_test

import (
	"reflect"
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

// tick runs one reconciliation over the real database.
func (r *records) tick() reconcile.TickResult {
	r.Helper()
	tick := &reconcile.Reconciler{
		Store: r.db, Ring: r.db, Operations: r.db, Starter: r.temporal, Controller: r.temporal, Describer: r.temporal,
		Shares: r.db, Instances: r.db, Defaults: r.ops.Policy.Defaults(), Audit: reconcile.AuditKept{Age: time.Hour, Most: 1000}, Log: zap.NewNop(),
	}
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	env.RegisterActivity(tick)
	v, err := env.ExecuteActivity(tick.Tick)
	require.NoError(r, err)
	var out reconcile.TickResult
	require.NoError(r, v.Get(&out))
	return out
}

// all returns everything in the database that a reconciliation writes.
type all struct {
	node      node.Node
	ops       []node.Operation
	events    int
	ring      int64
	shares    int64
	instances []share.Instance
	deleted   []node.Deleted
}

func (r *records) all() (a all) {
	r.Helper()
	n, err := r.db.Node(r.Context(), r.node.UUID)
	require.NoError(r, err)
	n.Operation = nil // it is in the list of operations
	a.node = *n
	a.ops, err = r.db.Operations(r.Context(), node.OperationFilter{Limit: 100})
	require.NoError(r, err)
	events, err := r.db.History(r.Context(), r.node.UUID, node.Page{Limit: 1000})
	require.NoError(r, err)
	f, err := r.db.Fleet(r.Context())
	require.NoError(r, err)
	o, err := r.db.ShareOverview(r.Context())
	require.NoError(r, err)
	a.events, a.ring, a.shares = len(events), f.Epoch, o.Epoch
	a.deleted, err = r.db.DeletedNodes(r.Context(), node.DeletedFilter{})
	require.NoError(r, err)
	instances, err := r.db.Instances(r.Context(), share.InstanceFilter{Limit: 100})
	require.NoError(r, err)
	for _, i := range instances { // the next tick deletes the record of an instance that is on no node
		if i.Standing {
			a.instances = append(a.instances, i)
		}
	}
	return a
}

func (r *records) serves() {
	r.Helper()
	_, err := r.db.RegisterConductor(r.Context(), coverage.Conductor{Hostname: "c1", Interfaces: map[string]map[string][]string{
		"fake-hardware": {"power": {"fake"}, "deploy": {"fake"}},
	}})
	require.NoError(r, err)
}

func (r *records) leaves() {
	r.Helper()
	require.NoError(r, r.db.StopConductor(r.Context(), "c1", 1))
}

// begun is a deploy that a conductor works on.
func (r *records) begun() *node.Operation {
	r.Helper()
	o := r.deploying(node.Step{Interface: "deploy", Step: "write_image", State: node.StepPending})
	_, err := r.db.Begin(r.Context(), o.ID, o.WorkflowID, run)
	require.NoError(r, err)
	_, err = r.db.Claim(r.Context(), o.ID, run, node.Claim{Seq: 1, Attempt: 1}, time.Time{}, "c1")
	require.NoError(r, err)
	return o
}

// Every part of a reconciliation runs twice on a real database, and the second time changes nothing. It only repeats what
// it sends to a workflow until that has acted on it: a start, a cancel or a signal to look again.
func TestEveryPartOfATickMayRunTwice(t *testing.T) {
	t.Parallel()
	open := node.RunStatus{Known: true, Open: true}
	cases := map[string]struct {
		prepare func(r *records)
		repeats bool // it is sent again
	}{
		"Started": {repeats: true, prepare: func(r *records) {
			r.deploying(node.Step{Interface: "deploy", Step: "write_image", State: node.StepPending})
		}},
		"Recovered": {prepare: func(r *records) {
			r.begun()
			r.temporal.status = node.RunStatus{Known: true, How: "terminated", ClosedAt: time.Now().Add(-time.Hour)}
		}},
		"Cancelled": {repeats: true, prepare: func(r *records) {
			r.begun()
			_, err := r.db.Request(r.Context(), r.node.UUID, func(*node.Node) (*node.Request, error) {
				return &node.Request{Steer: &node.Steer{Ask: node.AskCancel, By: "admin"}}, nil
			})
			require.NoError(r, err)
		}},
		"Nudged": {repeats: true, prepare: func(r *records) { // it waits for a conductor, and one has come back
			o := r.begun()
			r.leaves()
			r.do(r.ops.Ready, orchestrator.ReadyInput{Operation: o.ID, Seq: 2})
			r.serves()
		}},
		"Paused": {repeats: true, prepare: func(r *records) {
			r.begun()
			r.temporal.status.Pause = &node.Pause{What: node.PauseOfWorkflow, At: time.Now(), By: "ann"}
		}},
		"Moved": {prepare: func(*records) {}},
		"Quarantined": {prepare: func(r *records) {
			r.tick()
			r.leaves()
		}},
		"Released": {prepare: func(r *records) {
			r.leaves()
			require.Equal(r, 1, r.tick().Quarantined)
			r.serves()
		}},
		"Undone": {prepare: func(r *records) {
			o := r.begun()
			_, err := r.db.SaveSteps(r.Context(), o.ID, node.Claim{Seq: 1, Attempt: 1}, node.Progress{Undo: []node.Undo{node.UndoPowerOff}})
			require.NoError(r, err)
			_, err = r.db.CloseOperation(r.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: "no disk"})
			require.NoError(r, err)
		}},
		"Expired": {prepare: func(r *records) {
			_, _, revision, err := r.db.ComputeHeartbeat(r.Context(), share.Heartbeat{Host: "a", Incarnation: 1})
			require.NoError(r, err)
			_, err = r.db.PublishShares(r.Context(), revision, share.Decide)
			require.NoError(r, err)
		}},
		"Reaped": {prepare: func(r *records) {
			const instance = "22222222-2222-2222-2222-222222222222"
			_, err := r.db.ClaimNode(r.Context(), r.node.UUID, "admin", share.Claimer{}, func(n *node.Node) (node.Secrets, error) {
				n.InstanceUUID, n.InstanceInfo = instance, map[string]any{"nova_host_id": "compute"}
				return nil, nil
			})
			require.NoError(r, err)
			require.NoError(r, r.db.MarkAbsent(r.Context(), instance))
		}},
		"Forgotten": {prepare: func(r *records) {
			n := &node.Node{Driver: "fake-hardware", Interfaces: map[string]string{"power": "fake"}}
			require.NoError(r, r.db.CreateNode(r.Context(), n, nil, "admin"))
			require.NoError(r, r.db.DeleteNode(r.Context(), n.UUID, "admin", func(*node.Node) error { return nil }))
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRecords(t)
			r.temporal.status = open
			c.prepare(r)
			did := func() int64 { return reflect.ValueOf(r.tick()).FieldByName(name).Int() }
			before := r.all()
			require.Eventually(t, func() bool { return did() > 0 }, 20*time.Second, 50*time.Millisecond, "it has something to do")
			once := r.all()
			again := did()
			require.Equal(t, once, r.all(), "the second time changes nothing")
			require.Equal(t, c.repeats, again > 0)
			if !c.repeats {
				require.NotEqual(t, before, once, "the first time did something")
			}
		})
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[reconcile.TickResult]()) {
		if f.Type.Kind() == reflect.Int {
			require.Contains(t, cases, f.Name, "something that a tick does, and that is not tried twice")
		}
	}
}
