// Package orphans_test makes nodes that lack a workflow, a conductor or both, in every combination, and lets reconciliation
// find them.
package orphans_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities/reconcile"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// safe is how long after the end of a workflow its activities may still act.
const safe = 9 * time.Second

// built has the kind of operation that holds a node in a state. A transient state without one can only be written by hand.
var built = map[node.State]node.OperationKind{
	node.Verifying: node.KindManage, node.Inspecting: node.KindInspect, node.InspectWait: node.KindInspect,
	node.Deploying: node.KindDeploy, node.DeployWait: node.KindDeploy, node.DeployHold: node.KindDeploy,
	node.Deleting: node.KindUndeploy, node.Cleaning: node.KindProvide, node.CleanWait: node.KindProvide, node.CleanHold: node.KindProvide,
}

// What has become of the operation's workflow and of its conductor, and whether another conductor could do the work.
const (
	terminated   = "terminated"
	lost         = "lost"
	neverStarted = "never started"
	nobodys      = "held by no operation"
	alive        = "alive"
)

var (
	owners = []string{"dead", "renamed", "forgotten"}
	covers = []string{"on a survivor", "on no survivor"}
)

// orphan is a case and its node.
type orphan struct {
	state       node.State
	what        string
	owner       string
	cover       string
	maintenance bool

	uuid     string
	op       int64
	workflow string
}

func (o *orphan) String() string {
	s := fmt.Sprintf("%s, %s, owner %s, driver %s", o.state, o.what, o.owner, o.cover)
	if o.maintenance {
		s += ", in maintenance"
	}
	return s
}

// all returns all combinations, from the table of states.
func all() []*orphan {
	var out []*orphan
	for _, s := range node.States() {
		if !node.Transient(s) {
			continue
		}
		whats := []string{nobodys}
		if built[s] != "" {
			whats = []string{terminated, lost, neverStarted, nobodys, alive}
		}
		for _, what := range whats {
			for _, owner := range owners {
				for _, cover := range covers {
					for _, maintenance := range []bool{false, true} {
						out = append(out, &orphan{state: s, what: what, owner: owner, cover: cover, maintenance: maintenance})
					}
				}
			}
		}
	}
	return out
}

// temporal is a fake Temporal that knows the workflows that a test gives it.
type temporal struct {
	mu      sync.Mutex
	status  map[string]node.RunStatus // by workflow
	foreign string                    // the id of a workflow that is no operation's
	away    error                     // its error if it does not answer
	started []int64
}

func (w *temporal) Start(_ context.Context, o *node.Operation) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.WorkflowID == w.foreign {
		return nil
	}
	w.started = append(w.started, o.ID)
	w.status[o.WorkflowID] = node.RunStatus{Known: true, Open: true}
	return nil
}

// Open lists nothing, so that each workflow is described.
func (w *temporal) Open(context.Context) (map[string]bool, error) { return map[string]bool{}, nil }

func (w *temporal) Unpause(context.Context, *node.Operation, string, string) error { return nil }

func (w *temporal) Status(_ context.Context, o *node.Operation) (node.RunStatus, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.WorkflowID == w.foreign {
		return node.RunStatus{Foreign: "workflow of a stranger"}, w.away
	}
	return w.status[o.WorkflowID], w.away
}

func (*temporal) Cancel(context.Context, *node.Operation, string) error { return nil }
func (*temporal) Nudge(context.Context, *node.Operation) error          { return nil }

// world is a database and a fake Temporal.
type world struct {
	*testing.T
	*store.Store
	conn     *pgx.Conn
	temporal *temporal
}

func newWorld(t *testing.T) *world {
	keyset, err := store.NewKeyset()
	require.NoError(t, err)
	url := testenv.Postgres(t)
	s, err := store.Open(t.Context(), store.Config{URL: url, Keyset: keyset, ConductorTimeout: time.Hour})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	w := &world{T: t, Store: s, conn: conn, temporal: &temporal{status: map[string]node.RunStatus{}}}
	// Group "here" has a live conductor, "gone" has none. The dead conductor sends no heartbeats. The renamed one has stopped under
	// its old name and, in "here", runs under a new one. The forgotten one is not in the database.
	for _, group := range []string{"here", "gone"} {
		names := []string{"dead-" + group, "renamed-" + group}
		if group == "here" {
			names = append(names, "survivor", "renamed-new")
		}
		for _, name := range names {
			_, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name, Group: group, Interfaces: map[string]map[string][]string{"fake-hardware": {"power": {"fake"}}}})
			require.NoError(t, err)
		}
	}
	w.sql(`UPDATE conductors SET heartbeat_at = now() - interval '2 hours' WHERE hostname LIKE 'dead-%'`)
	w.sql(`UPDATE conductors SET stopped_at = now() WHERE hostname LIKE 'renamed-%' AND hostname <> 'renamed-new'`)
	return w
}

func (w *world) sql(statement string, args ...any) {
	w.Helper()
	_, err := w.conn.Exec(w.Context(), statement, args...)
	require.NoError(w, err, statement)
}

// leave writes the case's node as its owner has left it.
func (w *world) leave(o *orphan) {
	w.Helper()
	group := map[string]string{covers[0]: "here", covers[1]: "gone"}[o.cover]
	n := &node.Node{Driver: "fake-hardware", ConductorGroup: group, Interfaces: map[string]string{"power": "fake"}, ProvisionState: node.Available}
	require.NoError(w, w.CreateNode(w.Context(), n, nil, "admin"))
	o.uuid = n.UUID
	w.sql(`UPDATE nodes SET provision_state = $2, target_provision_state = $3, maintenance = $4, provision_updated_at = now() - interval '1 minute' WHERE uuid = $1`,
		n.UUID, string(o.state), string(node.TargetOf(o.state)), o.maintenance)
	if o.what == nobodys {
		return
	}
	phase := "running"
	switch {
	case o.what == neverStarted:
		phase = "accepted"
	case node.Waits(o.state):
		phase = "waiting"
	case node.Holds(o.state):
		phase = "holding"
	}
	var suffix string
	require.NoError(w, w.conn.QueryRow(w.Context(), `
INSERT INTO operations (node_id, node_uuid, kind, phase, origin, target, conductor_group, driver, conductor, undo, accepted_at, run_id, begun_at)
SELECT id, uuid, $2, $3, 'available', target_provision_state, conductor_group, driver, $4, '["eject media", "clear boot override"]',
	now() - interval '1 minute', CASE WHEN $5 THEN 'run' END, CASE WHEN $5 THEN now() END
  FROM nodes WHERE uuid = $1 RETURNING id, workflow_suffix`, n.UUID, string(built[o.state]), phase, o.owner+"-"+group, o.what != neverStarted).Scan(&o.op, &suffix))
	o.workflow = node.WorkflowID(n.UUID, built[o.state], o.op, suffix)
	switch o.what {
	case terminated:
		w.temporal.status[o.workflow] = node.RunStatus{Known: true, How: terminated, ClosedAt: time.Now().Add(-safe - time.Second)}
	case alive:
		w.temporal.status[o.workflow] = node.RunStatus{Known: true, Open: true}
	}
}

// noShares is a store without compute services.
type noShares struct{}

func (noShares) SharesStale(context.Context) (bool, error) { return false, nil }
func (noShares) HandOverShares(context.Context, time.Duration) (share.Published, error) {
	return share.Published{}, nil
}

func (noShares) PublishShares(context.Context, int64, func(share.State) []share.Row) (share.Published, error) {
	return share.Published{}, nil
}

func (w *world) tick() reconcile.TickResult {
	w.Helper()
	out, err := w.ticked()
	require.NoError(w, err)
	require.Empty(w, out.Alarm)
	return out
}

// ticked runs a tick that may fail or report a mass loss.
func (w *world) ticked() (out reconcile.TickResult, err error) {
	w.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	r := &reconcile.Reconciler{
		Store: w.Store, Ring: w.Store, Operations: w.Store, Starter: w.temporal, Controller: w.temporal, Describer: w.temporal,
		Shares: noShares{}, Instances: w.Store,
		Safe: safe, SayLost: "somebody says so", Log: zap.NewNop(),
	}
	env.RegisterActivity(r.Tick)
	v, err := env.ExecuteActivity(r.Tick)
	if err != nil {
		return out, err
	}
	require.NoError(w, v.Get(&out))
	return out, nil
}

// few is the number of lost workflows below which Temporal is not assumed to have lost its data.
const few = 9

func TestWhoeverIsLeftAloneIsReleasedAndResumedOrFailed(t *testing.T) {
	w := newWorld(t)
	cases := all()
	var late []*orphan
	for _, o := range cases {
		if o.what == lost {
			late = append(late, o)
		} else {
			w.leave(o)
		}
	}
	w.tick()
	for round := range slices.Chunk(late, few) {
		for _, o := range round {
			w.leave(o)
		}
		w.tick()
		for _, o := range round {
			n, err := w.Node(t.Context(), o.uuid)
			require.NoError(t, err)
			require.Equal(t, o.state, n.ProvisionState, "it may still act")
		}
		w.sql(`UPDATE operations SET missing_since = missing_since - interval '10 seconds' WHERE ended_at IS NULL`)
		w.tick()
	}
	w.tick() // by now undo operations are open wherever they can be
	counts := map[string]int{}
	for _, o := range cases {
		counts[o.what]++
		t.Run(o.String(), func(t *testing.T) { w.judge(t, o) })
	}
	// Transient states, of which ten have an operation that is built; three owners, two drivers, maintenance or not.
	require.Equal(t, map[string]int{terminated: 120, lost: 120, neverStarted: 120, alive: 120, nobodys: 204}, counts)
	t.Logf("%d cases", len(cases))
}

// judge returns what must have become of a case, by the table of states alone.
func (w *world) judge(t *testing.T, o *orphan) {
	n, err := w.Node(t.Context(), o.uuid)
	require.NoError(t, err)
	require.Equal(t, o.maintenance, n.Maintenance, "maintenance is an operator's")
	if o.what == alive || o.what == neverStarted {
		require.Equal(t, o.state, n.ProvisionState)
		require.NotNil(t, n.Operation)
		require.Equal(t, o.op, n.Operation.ID)
		require.Equal(t, o.what == neverStarted, slices.Contains(w.temporal.started, o.op), "what is alive is not touched")
		return
	}
	failed, err := node.Next(o.state, node.FailureEvent(o.state))
	require.NoError(t, err)
	require.Equal(t, failed, n.ProvisionState)
	require.Equal(t, node.TargetOf(failed), n.TargetProvisionState)
	require.NotEmpty(t, n.LastError)
	require.False(t, slices.Contains(w.temporal.started, o.op), "nothing of it is done again")
	owes := o.what != nobodys || o.state != node.Verifying && o.state != node.Adopting
	if !owes {
		require.Nil(t, n.Operation)
		return
	}
	require.NotEmpty(t, n.Owed, "what may be half done is owed")
	if o.maintenance || o.cover == covers[1] {
		require.Nil(t, n.Operation, "released, and the hardware not touched")
		return
	}
	require.NotNil(t, n.Operation)
	require.Equal(t, node.KindUndo, n.Operation.Kind, "done first by who covers it")
	require.True(t, slices.Contains(w.temporal.started, n.Operation.ID))
	require.Empty(t, strings.TrimSpace(n.Operation.Conductor), "nobody dead is named")
}
