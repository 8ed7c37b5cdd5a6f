package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/closing"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// Each part of the store that moves nodes applies every rule of the table to a random node.
// The row is afterwards what node.Transition.Apply makes of it, and what
// ClearInstance names is gone.
func TestTheStoreWritesWhatATransitionSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claim := node.Claim{Seq: 1, Attempt: 1}
	var leaving []node.Rule // these rules change most, so they are tried more often
	for _, r := range node.Rules {
		if r.From == node.Deleting {
			leaving = append(leaving, r, r)
		}
	}
	for name, move := range map[string]func(*node.Node, node.Event) error{
		"a step": func(n *node.Node, e node.Event) error {
			_, err := w.SaveSteps(t.Context(), n.Operation.ID, claim, node.Progress{Move: e})
			return err
		},
		"a step that reads more": func(n *node.Node, e node.Event) error {
			_, err := w.SaveSteps(t.Context(), n.Operation.ID, claim, node.Progress{Move: e, ClearAsk: true})
			n.TargetPowerState = ""
			return err
		},
		"a workflow or a person": func(n *node.Node, e node.Event) error {
			_, err := w.Direct(t.Context(), n.Operation.ID, func(*node.Node) (node.OperationChange, error) { return node.OperationChange{Move: e}, nil })
			return err
		},
		"a request": func(n *node.Node, e node.Event) error {
			_, err := w.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
				return &node.Request{Steer: &node.Steer{Ask: node.AskUnhold}, Move: []node.Event{e}}, nil
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range slices.Concat(node.Rules, leaving, leaving, leaving) {
				n := w.random(t, r.From, node.KindDeploy)
				want, err := node.Move(n, r.Event)
				require.NoError(t, err)
				before, cleared := w.outside(t, n), want.ClearInstance
				expected := *n
				require.NoError(t, move(&expected, r.Event), r)
				want.Apply(&expected, now)
				w.check(t, &expected, before, cleared, r)
			}
		})
	}
}

// The same for closing: operations of every kind, in every state of their nodes, with every outcome.
func TestTheStoreWritesWhatAnEndingSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, k := range node.Kinds() {
		for _, s := range node.States() {
			for _, out := range node.Outcomes {
				n := w.random(t, s, k)
				end := node.End{Operation: n.Operation.ID, RunID: "r", Outcome: out}
				if out == node.Failed {
					end.Error = "boom"
				}
				want, err := closing.Operation(n, end)
				if err != nil || want.FollowUp != "" { // TestADeletedThatWasAskedMeanwhileIsNext tests what follows
					continue
				}
				before := w.outside(t, n)
				_, err = w.CloseOperation(t.Context(), end)
				require.NoError(t, err, "%s in %s: %s", k, s, out)
				expected := *n
				want.Apply(&expected, now)
				expected.Operation = nil
				w.check(t, &expected, before, want.ClearInstance, k, s, out)
			}
		}
	}
}

func TestTheStoreWritesWhatStrandingSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	type was struct {
		expected node.Node
		before   outside
		cleared  bool
	}
	var all []was
	for range 5 {
		for _, s := range node.TransientStates() {
			n := w.random(t, s, "")
			want, stranded := closing.Stranded(n)
			require.True(t, stranded)
			before, expected := w.outside(t, n), *n
			want.Apply(&expected, now)
			all = append(all, was{expected, before, want.ClearInstance})
		}
	}
	settled, err := w.FailStranded(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, len(all), settled)
	for _, a := range all {
		w.check(t, &a.expected, a.before, a.cleared, a.expected.ProvisionState)
		history, err := w.History(t.Context(), a.expected.UUID, node.Page{SortDir: "desc", Limit: 1})
		require.NoError(t, err)
		require.Contains(t, history[0].Event, "no operation held the node")
	}
}

func TestTheStoreWritesWhatDeallocationSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, state := range []node.State{node.Available, node.Manageable, node.Enroll, node.Active, node.DeployFailed, node.CleanFailed} {
		for range 3 {
			n := w.random(t, state, "")
			allocation := someUUID()
			raw(t, w.url, `UPDATE nodes SET instance_info = instance_info || '{"traits": ["CUSTOM_A"]}', instance_uuid = $2, allocation_uuid = $2 WHERE uuid = $1`, n.UUID, allocation)
			raw(t, w.url, `INSERT INTO allocations (uuid, node_id, state, owner) SELECT $2, n.id, 'active', 'project' FROM nodes n WHERE n.uuid = $1`, n.UUID, allocation)
			read, err := w.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, "project", read.AllocationOwner)
			expected := *read
			expected.Deallocate()
			require.NoError(t, w.DeleteAllocation(t.Context(), allocation, "ann", func(*node.Node) error { return nil }))
			got, err := w.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			expected.UpdatedAt = got.UpdatedAt
			require.Equal(t, &expected, got)
		}
	}
}

// now is used as the time of a transition, and long as a time before it.
var (
	now  = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	long = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
)

// world is a database with random nodes.
type world struct {
	*store.Store
	url   string
	r     *rand.Rand
	ports int
}

func newWorld(t *testing.T) *world {
	s, url := openURL(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return &world{Store: s, url: url, r: rand.New(rand.NewPCG(seed, 1))}
}

func (w *world) some() bool { return w.r.IntN(2) == 0 }

// random makes a node in this state, held by an operation of kind k ("" = none), with random
// values in everything that transitions may change.
func (w *world) random(t *testing.T, s node.State, k node.OperationKind) *node.Node {
	t.Helper()
	n := create(t, w.Store, node.Manageable)
	_, err := w.UpdateNode(t.Context(), n.UUID, "admin", func(n *node.Node) (node.Secrets, error) {
		n.DriverInfo["redfish_password"] = mask.Masked
		given := node.Secrets{"driver_info/redfish_password": "hunter2"}
		if w.some() {
			n.InstanceUUID, n.InstanceName = someUUID(), "vm"
			n.InstanceInfo = map[string]any{"image_source": "http://x", "configdrive": mask.Masked}
			given["instance_info/configdrive"], given["instance_info/without_place"] = "c2VjcmV0", "x"
		}
		return given, nil
	})
	require.NoError(t, err)
	w.ports++
	vif := map[string]any{"k": 1.0}
	if w.some() {
		vif["tenant_vif_port_id"] = "v"
	}
	require.NoError(t, w.CreatePort(t.Context(), &node.Port{NodeUUID: n.UUID, Address: fmt.Sprintf("52:54:00:00:%02x:%02x", w.ports/256, w.ports%256), InternalInfo: vif}))
	if w.some() {
		raw(t, w.url, `INSERT INTO agents (node_id) SELECT id FROM nodes WHERE uuid = $1`, n.UUID)
		_, err = w.AgentLookup(t.Context(), n.UUID, "here", func(int, bool, bool) (bool, string) { return true, "t0ken" })
		require.NoError(t, err)
	}
	pick := func(of ...string) string { return of[w.r.IntN(len(of))] }
	raw(t, w.url, `UPDATE nodes SET provision_state = $2, target_provision_state = $3, provision_updated_at = $4, inspection_started_at = $5,
		inspection_finished_at = $6, lessee = nullif($7, ''), driver_internal_info = $8::text::jsonb, last_error = nullif($9, ''), owed = $10::text::jsonb,
		owed_error = CASE WHEN $10 <> '[]' THEN nullif($11, '') END, owed_refused = $10 <> '[]' AND $12, maintenance = $13, maintenance_reason = nullif($14, ''), target_power_state = nullif($15, ''),
		allocation_uuid = CASE WHEN $16 THEN gen_random_uuid() END WHERE uuid = $1`,
		n.UUID, string(s), pick("", string(node.TargetOf(s)), string(node.Manageable)), w.time(), w.time(), w.time(), pick("", "project"),
		pick(`{}`, `{"k": 1}`, `{"automatic_lessee": true, "k": 1}`), pick("", "no disk", "no disk"+node.UndoLeft+"no answer"),
		pick(`[]`, `["eject media"]`, `["power off", "eject media"]`), pick("", "400"), w.some(), w.some(), pick("", "mine"), pick("", "power on"), w.some())
	if k != "" {
		w.open(t, n, k, pick)
	}
	got, err := w.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	return got
}

func (w *world) time() *time.Time {
	if w.some() {
		return nil
	}
	return &long
}

// open gives the node an operation that has begun, with the claim 1.1.
func (w *world) open(t *testing.T, n *node.Node, k node.OperationKind, pick func(...string) string) {
	t.Helper()
	steps := pick(`[]`, `[{"interface": "deploy", "step": "erase_devices", "state": "failed", "source": "agent"}]`)
	raw(t, w.url, `INSERT INTO operations (node_id, node_uuid, kind, phase, origin, target, conductor_group, driver, run_id, begun_at, claim_seq, claim_attempt, steps, undo)
		SELECT id, uuid, $2, 'running', 'available', $3, '', driver, 'r', now(), 1, 1, $4::text::jsonb, $5::text::jsonb FROM nodes WHERE uuid = $1`,
		n.UUID, string(k), pick("available", "manageable", "active"), steps, pick(`[]`, `["power off"]`, `["clear boot override"]`))
}

// outside is what belongs to a node outside of its row.
type outside struct {
	Secrets []string
	VIFs    int
}

func (w *world) outside(t *testing.T, n *node.Node) (o outside) {
	t.Helper()
	o.Secrets = ask[[]string](t, w.url, `SELECT coalesce(array_agg(s.name ORDER BY s.name), '{}') FROM secrets s JOIN nodes n ON n.id = s.node_id
		WHERE n.uuid = $1 AND s.name <> 'agent_token'`, n.UUID)
	o.VIFs = ask[int](t, w.url, `SELECT count(*)::int FROM ports p JOIN nodes n ON n.id = p.node_id WHERE n.uuid = $1 AND p.internal_info ? 'tenant_vif_port_id'`, n.UUID)
	return o
}

// check compares the node's row, its agent, secrets and ports with what is expected.
func (w *world) check(t *testing.T, expected *node.Node, before outside, cleared bool, what ...any) {
	t.Helper()
	got, err := w.Node(t.Context(), expected.UUID)
	require.NoError(t, err)
	for _, at := range []**time.Time{&got.ProvisionUpdatedAt, &got.InspectionStartedAt, &got.InspectionFinishedAt} {
		if *at != nil && !(*at).Equal(long) {
			require.WithinDuration(t, time.Now(), **at, time.Hour)
			*at = &now
		}
	}
	token := ask[bool](t, w.url, `SELECT EXISTS (SELECT FROM secrets s JOIN nodes n ON n.id = s.node_id WHERE n.uuid = $1 AND s.name = 'agent_token')`, expected.UUID)
	require.Equal(t, expected.Agent != nil, token, what)
	if cleared {
		before = outside{Secrets: []string{"driver_info/redfish_password"}}
	}
	require.Equal(t, before, w.outside(t, expected), what)
	e := *expected
	e.UpdatedAt, e.MaintenanceSince, e.Operation = got.UpdatedAt, got.MaintenanceSince, got.Operation
	if len(e.Owed) == 0 {
		e.Owed, got.Owed = nil, nil
	}
	e.DriverInternalInfo, e.Quarantine = maps.Clone(e.DriverInternalInfo), got.Quarantine
	require.Equal(t, &e, got, what)
}
