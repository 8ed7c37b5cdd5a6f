package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func TestANodeIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := open(t)
	chassis := &node.Chassis{Record: node.Record{UUID: someUUID()}}
	require.NoError(t, s.CreateChassis(t.Context(), chassis))
	want := &node.Node{
		Name: "node-0", Driver: "redfish", Interfaces: map[string]string{"power": "redfish"},
		DriverInfo: map[string]any{"redfish_address": "https://10.0.0.1"}, DriverInternalInfo: map[string]any{"x": "y"},
		Properties: map[string]any{"cpus": json.Number("8")}, Extra: map[string]any{"list": []any{"a", json.Number("1")}},
		InstanceInfo: map[string]any{"image_source": "http://x/y"}, NetworkData: map[string]any{},
		ConductorGroup: "rack-1", ResourceClass: "gold", Owner: "o", Lessee: "l", Description: "d", Shard: "s",
		ParentNode: someUUID(), ChassisUUID: chassis.UUID, InstanceUUID: someUUID(), InstanceName: "vm-1",
		ProvisionState: node.Manageable, AutomatedClean: ptr(false), Protected: true, ProtectedReason: "why",
		Retired: true, RetiredReason: "old", DisablePowerOff: true, Maintenance: true, MaintenanceReason: "fan",
		RAIDConfig: map[string]any{}, TargetRAIDConfig: map[string]any{"logical_disks": []any{}},
		Traits: []string{"CUSTOM_B", "CUSTOM_A", "CUSTOM_B"},
	}
	require.NoError(t, s.CreateNode(t.Context(), want, nil, "admin"))
	for _, ident := range []string{want.UUID, want.Name} {
		got, err := s.Node(t.Context(), ident)
		require.NoError(t, err)
		expected := *want
		expected.Owed, expected.Quarantine = []node.Undo{}, &node.Quarantine{} // no conductor was ever registered
		expected.Traits = []string{"CUSTOM_A", "CUSTOM_B"}
		require.WithinDuration(t, time.Now(), got.CreatedAt, time.Minute)
		require.NotNil(t, got.MaintenanceSince)
		expected.MaintenanceSince = got.MaintenanceSince
		require.Equal(t, time.UTC, got.CreatedAt.Location())
		require.Equal(t, expected, *got)
	}
}

func TestUnknownNodesAreNamed(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, ident := range []string{"nobody", someUUID(), "", "with space", "\x00"} {
		_, err := s.Node(t.Context(), ident)
		require.Error(t, err)
		if ident != "\x00" { // PostgreSQL refuses this text, so the fault is Invalid
			kind(t, fault.NotFound, err)
			require.Equal(t, "Node "+ident+" could not be found.", err.Error())
		}
	}
}

func TestWhatIsTakenIsNamed(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := create(t, s, node.Available)
	instance := someUUID()
	_, err := s.UpdateNode(t.Context(), a.UUID, "admin", func(n *node.Node) (node.Secrets, error) {
		n.InstanceUUID = instance
		return nil, nil
	})
	require.NoError(t, err)
	require.NoError(t, s.CreatePort(t.Context(), &node.Port{NodeUUID: a.UUID, Address: "52:54:00:00:00:01", Name: "p"}))

	b := create(t, s, node.Available)
	edit := func(f func(*node.Node)) error {
		_, err := s.UpdateNode(t.Context(), b.UUID, "admin", func(n *node.Node) (node.Secrets, error) {
			f(n)
			return nil, nil
		})
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a name":          {edit(func(n *node.Node) { n.Name = a.Name }), "A node with name " + a.Name + " already exists."},
		"an instance":     {edit(func(n *node.Node) { n.InstanceUUID = instance }), "Instance " + instance + " is already associated with another node."},
		"a uuid":          {s.CreateNode(t.Context(), &node.Node{UUID: a.UUID, Driver: "x"}, nil, ""), "A node with UUID " + a.UUID + " already exists."},
		"a MAC":           {s.CreatePort(t.Context(), &node.Port{NodeUUID: b.UUID, Address: "52:54:00:00:00:01"}), "A port with MAC address 52:54:00:00:00:01 already exists."},
		"a name of ports": {s.CreatePort(t.Context(), &node.Port{NodeUUID: b.UUID, Address: "52:54:00:00:00:02", Name: "p"}), "A port with name p already exists."},
	} {
		t.Run(name, func(t *testing.T) {
			kind(t, fault.Conflict, c.err)
			require.Equal(t, c.want, c.err.Error())
		})
	}
}

func TestValuesThatTheSchemaRefusesAreInvalid(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, n := range map[string]*node.Node{
		"a state that is none":       {Driver: "x", ProvisionState: "resting"},
		"a group in capitals":        {Driver: "x", ConductorGroup: "Rack"},
		"no driver":                  {},
		"a zero byte in a text":      {Driver: "x", Name: "a\x00b"},
		"bytes that are no text":     {Driver: "x", Description: "\xff\xfe"},
		"a description without end":  {Driver: "x", Description: string(make([]byte, 5000))},
		"a parent that is no uuid":   {Driver: "x", ParentNode: "n1"},
		"a value without JSON form":  {Driver: "x", Extra: map[string]any{"f": func() {}}},
		"a uuid that is none at all": {Driver: "x", UUID: "n1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.CreateNode(t.Context(), n, nil, "")
			kind(t, fault.Invalid, err)
		})
	}
}

func TestConcurrentPatchesLoseNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	const each, people = 10, 20
	var wg sync.WaitGroup
	for p := range people {
		wg.Go(func() {
			for i := range each {
				_, err := s.UpdateNode(t.Context(), n.UUID, "admin", func(n *node.Node) (node.Secrets, error) {
					n.Extra[fmt.Sprintf("%d-%d", p, i)] = true
					return nil, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Len(t, got.Extra, each*people)
	require.NotNil(t, got.UpdatedAt)
}

func TestAPatchThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	no := fault.New(fault.Conflict, "no")
	_, err := s.UpdateNode(t.Context(), n.Name, "admin", func(n *node.Node) (node.Secrets, error) {
		n.Description = "changed"
		return nil, no
	})
	require.ErrorIs(t, err, no)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Empty(t, got.Description)
	require.Nil(t, got.UpdatedAt)
}

func TestDeletingANodeEndsItsOperation(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	require.NoError(t, s.CreatePort(t.Context(), &node.Port{NodeUUID: n.UUID, Address: "52:54:00:00:00:09"}))
	no := fault.New(fault.Conflict, "not now")
	require.ErrorIs(t, s.DeleteNode(t.Context(), n.UUID, "ann", func(n *node.Node) error {
		require.NotNil(t, n.Operation)
		return no
	}), no)
	require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "ann", func(*node.Node) error { return nil }))
	_, err := s.Node(t.Context(), n.UUID)
	kind(t, fault.NotFound, err)
	got, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, node.Cancelled, got.Outcome)
	require.Equal(t, n.UUID, got.NodeUUID)
	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{})
	kind(t, fault.Lost, err)
	kind(t, fault.NotFound, s.DeleteNode(t.Context(), n.UUID, "ann", func(*node.Node) error { return nil }))
	ops, err := s.Operations(t.Context(), node.OperationFilter{Node: n.UUID})
	require.NoError(t, err)
	require.Len(t, ops, 1, "the record stays")
}

func TestMaintenance(t *testing.T) {
	s, url := openURL(t)
	n, _ := running(t, s)
	require.NoError(t, maintain(t, s, n.UUID, true, "fan", "admin"), "an operation is no obstacle")
	raw(t, url, "UPDATE nodes SET fault = 'power failure'")
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.True(t, got.Maintenance)
	require.Equal(t, "fan", got.MaintenanceReason)
	require.NoError(t, maintain(t, s, n.Name, true, "fans", "admin"))
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, "power failure", got.Fault, "a new reason keeps the fault")
	require.NoError(t, maintain(t, s, n.Name, false, "ignored", "admin"))
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.False(t, got.Maintenance)
	require.Empty(t, got.MaintenanceReason)
	require.Empty(t, got.Fault)
	events, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 3})
	require.NoError(t, err)
	require.Equal(t, "maintenance off", events[0].Event)
	require.Equal(t, "maintenance on: fan", events[2].Event)
	kind(t, fault.NotFound, maintain(t, s, "nobody", true, "", ""))
}

func TestTraits(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	require.NoError(t, s.SetTraits(t.Context(), n.UUID, []string{"CUSTOM_B", "CUSTOM_A"}))
	require.NoError(t, s.AddTrait(t.Context(), n.UUID, "CUSTOM_C"))
	require.NoError(t, s.AddTrait(t.Context(), n.UUID, "CUSTOM_C"))
	require.NoError(t, s.RemoveTrait(t.Context(), n.UUID, "CUSTOM_A"))
	kind(t, fault.NotFound, s.RemoveTrait(t.Context(), n.UUID, "CUSTOM_A"))
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, []string{"CUSTOM_B", "CUSTOM_C"}, got.Traits)
	var many []string
	for i := range 51 {
		many = append(many, fmt.Sprintf("CUSTOM_%d", i))
	}
	kind(t, fault.Invalid, s.SetTraits(t.Context(), n.UUID, many))
	require.NoError(t, s.SetTraits(t.Context(), n.UUID, nil))
}

func TestANodeIsReadWithoutPlanningTheStatementEachTime(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	s := connect(t, store.Config{URL: url, Keyset: keyset, MaxConns: 1})
	n := create(t, s, node.Available)
	const reads = 20 // PostgreSQL makes five custom plans before it compares their cost
	for range reads {
		_, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		_, err = s.Conductors(t.Context())
		require.NoError(t, err)
	}
	for _, part := range []string{"need_coverage(n.need_id", "conductor_late(c, w, $1, $2) FROM conductors"} {
		require.GreaterOrEqual(t, store.GenericPlans(t.Context(), t, s, part), reads/2, part)
	}
}

// While a request waits for the lock of a node by its name, another node gets the name. The
// other node's row is not locked.
func TestANodeThatTookTheNameMeanwhileIsNotWrittenWithoutItsLock(t *testing.T) {
	t.Parallel()
	for what, write := range map[string]func(*store.Store, context.Context) error{
		"maintenance": func(s *store.Store, ctx context.Context) error {
			_, err := s.SetMaintenance(ctx, "wanted", true, "", "ann")
			return err
		},
		"delete": func(s *store.Store, ctx context.Context) error {
			return s.DeleteNode(ctx, "wanted", "ann", func(*node.Node) error { return nil })
		},
	} {
		t.Run(what, func(t *testing.T) {
			s, url := openURL(t)
			was, is := create(t, s, node.Available), create(t, s, node.Available)
			raw(t, url, `UPDATE nodes SET name = 'wanted' WHERE uuid = $1`, was.UUID)
			tx, err := beside(t, url).Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), `UPDATE nodes SET name = 'other' WHERE uuid = $1`, was.UUID)
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), `UPDATE nodes SET name = 'wanted' WHERE uuid = $1`, is.UUID)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- write(s, t.Context()) }()
			waitsForALock(t, tx)
			require.NoError(t, tx.Commit(t.Context()))
			kind(t, fault.NotFound, <-done)
			require.Equal(t, 2, ask[int](t, url, `SELECT count(*)::int FROM nodes WHERE NOT maintenance`))
		})
	}
}

// Only a change of what is deployed, or to which disk, is noted as one.
func TestTheTimeOfAnotherImageIsNoted(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	patch := func(edit func(n *node.Node)) *time.Time {
		_, err := s.UpdateNode(t.Context(), n.UUID, "", func(n *node.Node) (node.Secrets, error) {
			edit(n)
			return nil, nil
		})
		require.NoError(t, err)
		read, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		return read.PreparedSince
	}
	require.Nil(t, patch(func(n *node.Node) { n.Extra = map[string]any{"a": 1} }))
	require.Nil(t, patch(func(n *node.Node) { n.InstanceInfo = map[string]any{"traits": []any{}} }))
	image := patch(func(n *node.Node) { n.InstanceInfo["image_os_hash_value"] = "abc" })
	require.NotNil(t, image)
	require.Equal(t, image, patch(func(n *node.Node) { n.Description = "x" }))
	require.True(t, patch(func(n *node.Node) { n.Properties = map[string]any{"root_device": map[string]any{"serial": "s"}} }).After(*image))
	require.False(t, patch(func(n *node.Node) { n.InstanceInfo["root_device"] = map[string]any{"serial": "t"} }).Equal(*image))
}
