package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// covering is a conductor for the nodes that create makes.
func covering(t testing.TB, s *store.Store, name string) int64 {
	t.Helper()
	i, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name, Interfaces: map[string]map[string][]string{
		"fake-hardware": {"power": {"other", "fake"}, "boot": {"fake"}},
	}})
	require.NoError(t, err)
	return i
}

func quarantine(t testing.TB, s *store.Store, ident string) *node.Quarantine {
	t.Helper()
	n, err := s.Node(t.Context(), ident)
	require.NoError(t, err)
	return n.Quarantine
}

func TestANodeIsInQuarantineFromTheMomentNobodyCoversIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*clocked, int64)
		want   bool
	}{
		"nothing":              {func(*clocked, int64) {}, false},
		"its conductor stops":  {func(c *clocked, i int64) { require.NoError(c.t, c.s.StopConductor(c.t.Context(), "c1", i)) }, true},
		"its conductor drains": {func(c *clocked, i int64) { require.NoError(c.t, c.s.DrainConductor(c.t.Context(), "c1", i)) }, true},
		"its conductor goes silent": {func(c *clocked, _ int64) {
			raw(c.t, c.url, `UPDATE conductors SET heartbeat_at = now() - interval '16 seconds'`)
		}, true},
		"its conductor is nearly silent": {func(c *clocked, _ int64) {
			raw(c.t, c.url, `UPDATE conductors SET heartbeat_at = now() - interval '12 seconds'`)
		}, false},
		"its conductor is of another group": {func(c *clocked, _ int64) { raw(c.t, c.url, `UPDATE conductors SET conductor_group = 'rack-1'`) }, true},
		"its conductor loses the interface": {func(c *clocked, _ int64) {
			raw(c.t, c.url, `UPDATE conductors SET interfaces = '{"fake-hardware": {"power": ["other"], "boot": ["fake"]}}'`)
		}, true},
		"it wants another interface": {func(c *clocked, _ int64) {
			raw(c.t, c.url, `UPDATE nodes SET interfaces = '{"power": "fake", "boot": "pxe"}'`)
		}, true},
		"it wants one more that there is": {func(c *clocked, _ int64) {
			raw(c.t, c.url, `UPDATE nodes SET interfaces = '{"power": "fake", "boot": "fake"}'`)
		}, false},
		"it wants another driver": {func(c *clocked, _ int64) { raw(c.t, c.url, `UPDATE nodes SET driver = 'redfish'`) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := expiring(t)
			i := covering(t, s, "c1")
			n := create(t, s, node.Available)
			raw(t, url, `UPDATE nodes SET power_state = 'power off'`)
			c.change(&clocked{t: t, s: s, url: url}, i)
			in := 0
			if c.want {
				in = 1
			}
			require.Equal(t, c.want, quarantine(t, s, n.UUID) != nil)
			nodes, err := s.Nodes(t.Context(), node.Filter{}, node.Page{SortKey: "maintenance"})
			require.NoError(t, err)
			require.Equal(t, c.want, nodes[0].Quarantine != nil)
			require.Equal(t, in, listed(t, s, node.Filter{Maintenance: ptr(true)}))
			require.Equal(t, 1-in, listed(t, s, node.Filter{Maintenance: ptr(false)}))
			require.Equal(t, in, listed(t, s, node.Filter{Fault: ptr(node.FaultNoConductor)}))
			require.Len(t, offered(t, s, node.AvailableFilter{}), 1-in)
			counted, err := s.Quarantined(t.Context())
			require.NoError(t, err)
			require.Len(t, counted, in)
		})
	}
}

func listed(t testing.TB, s *store.Store, f node.Filter) int {
	t.Helper()
	nodes, err := s.Nodes(t.Context(), f, node.Page{})
	require.NoError(t, err)
	return len(nodes)
}

// offered returns the names of the nodes that a scheduler is offered.
func offered(t testing.TB, s *store.Store, f node.AvailableFilter) []string {
	t.Helper()
	nodes, err := s.Available(t.Context(), f)
	require.NoError(t, err)
	names := []string{}
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}

func TestAnOperatorsMaintenanceAndQuarantineAreTwoThings(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Available)
	require.NoError(t, maintain(t, s, n.UUID, true, "fan", "ann"))
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.True(t, got.ShownMaintenance())
	require.Equal(t, node.FaultNoConductor, got.ShownFault())
	require.Equal(t, `fan; No conductor service registered which supports driver fake-hardware for the default conductor group with the interfaces of the node.`, got.ShownReason())

	raw(t, url, `UPDATE nodes SET fault = 'clean failure'`)
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.FaultClean, got.ShownFault(), "what the node has itself comes first")
	require.Zero(t, listed(t, s, node.Filter{Fault: ptr(node.FaultNoConductor)}))
	require.Equal(t, 1, listed(t, s, node.Filter{Fault: ptr(node.FaultClean)}))

	require.NoError(t, maintain(t, s, n.UUID, false, "", "ann"))
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.False(t, got.Maintenance)
	require.True(t, got.ShownMaintenance(), "only the operator's is lifted")

	covering(t, s, "c1")
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.False(t, got.ShownMaintenance())
	require.Empty(t, got.ShownFault()+got.ShownReason())
}

func tick(t testing.TB, s *store.Store, quarantined, released int) {
	t.Helper()
	got, err := s.Quarantine(t.Context())
	require.NoError(t, err)
	require.Equal(t, coverage.QuarantineTick{Quarantined: quarantined, Released: released}, got)
}

// The conductor that is named is one that was there, and none is named for nodes that are gone.
func TestWhoseNodesAreInQuarantine(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	for name, interfaces := range map[string]map[string]map[string][]string{
		"c1": {"fake-hardware": {"power": {"fake"}}, "redfish": {"power": {"redfish"}}},
		"c2": {"fake-hardware": {"power": {"other"}}},
	} {
		_, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name, Interfaces: interfaces})
		require.NoError(t, err)
	}
	create(t, s, node.Available)
	n := create(t, s, node.Available)
	raw(t, url, fmt.Sprintf(`UPDATE nodes SET interfaces = '{"power": "other"}' WHERE uuid = '%s'`, n.UUID))
	gone := create(t, s, node.Enroll)
	raw(t, url, fmt.Sprintf(`UPDATE nodes SET driver = 'redfish', interfaces = '{"power": "redfish"}' WHERE uuid = '%s'`, gone.UUID))
	require.NoError(t, s.DeleteNode(t.Context(), gone.UUID, "ann", func(*node.Node) error { return nil }))
	raw(t, url, `UPDATE conductors SET heartbeat_at = now() - interval '1 hour'`)
	all, err := s.Quarantined(t.Context())
	require.NoError(t, err)
	require.Equal(t, []coverage.Quarantined{
		{Driver: "fake-hardware", Nodes: 2, Uncovered: true, Former: "c2", FormerDrivers: "fake-hardware"},
		{Driver: "redfish"},
	}, all)
}

func TestQuarantinesAreWrittenDownOnce(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	i := covering(t, s, "c1")
	n := create(t, s, node.Active)
	raw(t, url, `UPDATE nodes SET instance_uuid = gen_random_uuid()`)
	other := create(t, s, node.Enroll)
	tick(t, s, 0, 0)
	require.NoError(t, s.StopConductor(t.Context(), "c1", i))
	tick(t, s, 2, 0)
	writes := `SELECT pg_stat_get_xact_tuples_updated('needs'::regclass) + (SELECT count(*) FROM quarantines) + (SELECT count(*) FROM events)`
	before := ask[int64](t, url, writes)
	tick(t, s, 0, 0)
	require.Equal(t, before, ask[int64](t, url, writes), "what has not changed is not written")
	require.Equal(t, ask[string](t, url, `SELECT stopped_at::text FROM conductors`), ask[string](t, url, `SELECT since::text FROM quarantines LIMIT 1`))
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Active, got.ProvisionState, "a node with an instance is marked and left alone")
	require.NotEmpty(t, got.InstanceUUID)

	covering(t, s, "c1")
	tick(t, s, 0, 2)
	tick(t, s, 0, 0)
	history, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 2})
	require.NoError(t, err)
	require.Contains(t, history[1].Event, "quarantined: No conductor service registered which supports driver fake-hardware")
	require.Contains(t, history[0].Event, "released from quarantine")
	require.NoError(t, s.DeleteNode(t.Context(), other.UUID, "ann", func(*node.Node) error { return nil }))
}

func TestAQuarantineSaysWhoDrains(t *testing.T) {
	t.Parallel()
	s, _ := openURL(t)
	one, two := covering(t, s, "c1"), covering(t, s, "c2")
	n := create(t, s, node.Available)
	require.NoError(t, s.DrainConductor(t.Context(), "c1", one))
	require.Nil(t, quarantine(t, s, n.UUID), "there is another one")
	require.NoError(t, s.DrainConductor(t.Context(), "c2", two))
	require.Equal(t, []string{"c1", "c2"}, quarantine(t, s, n.UUID).Draining)
	tick(t, s, 1, 0)
	history, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 1})
	require.NoError(t, err)
	require.Contains(t, history[0].Event, ": c1, c2 are draining.")
	require.NoError(t, s.StopConductor(t.Context(), "c1", one))
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Contains(t, got.ShownReason(), ": c2 is draining.", "who has stopped drains no more")
	all, err := s.Nodes(t.Context(), node.Filter{}, node.Page{})
	require.NoError(t, err)
	require.Equal(t, got.ShownReason(), all[0].ShownReason())
}

func TestAPatchToACoveredDriverLiftsTheQuarantineInItsTransaction(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Available)
	raw(t, url, `UPDATE nodes SET power_state = 'power on'`)
	tick(t, s, 1, 0)
	_, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: "c9", Group: "rack-9", Interfaces: map[string]map[string][]string{"fake-hardware": {"power": {"fake"}}}})
	require.NoError(t, err)
	got, err := s.UpdateNode(t.Context(), n.UUID, "ann", func(n *node.Node) (node.Secrets, error) {
		n.ConductorGroup = "rack-9"
		return nil, nil
	})
	require.NoError(t, err)
	require.Nil(t, got.Quarantine)
	require.Len(t, offered(t, s, node.AvailableFilter{}), 1)
	require.Zero(t, ask[int](t, url, `SELECT count(*) FROM quarantines`))
	tick(t, s, 0, 0)
}

func TestCoverageThatComesAndGoesHasToLast(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	i := covering(t, s, "c1")
	n := create(t, s, node.Available)
	raw(t, url, `UPDATE nodes SET power_state = 'power on'`)
	lose := func() {
		require.NoError(t, s.StopConductor(t.Context(), "c1", i))
		require.Empty(t, offered(t, s, node.AvailableFilter{}), "not being offered is at once, always")
	}
	pass := func(d string) {
		raw(t, url, `UPDATE needs SET covered_at = covered_at - $1::interval, losses = array(SELECT l - $1::interval FROM unnest(losses) l)`, d)
	}
	for range 2 {
		lose()
		tick(t, s, 1, 0)
		i = covering(t, s, "c1")
		require.Len(t, offered(t, s, node.AvailableFilter{}), 1)
		tick(t, s, 0, 1)
	}
	lose()
	tick(t, s, 1, 0)
	i = covering(t, s, "c1")
	require.Empty(t, offered(t, s, node.AvailableFilter{}), "the third time within ten minutes")
	tick(t, s, 0, 0)
	require.True(t, quarantine(t, s, n.UUID).Held)
	require.Contains(t, node.QuarantineReason("", "fake-hardware", *quarantine(t, s, n.UUID)), "come and go")
	pass("50 seconds")
	tick(t, s, 0, 0)
	lose()
	tick(t, s, 0, 0)
	i = covering(t, s, "c1")
	tick(t, s, 0, 0)
	pass("50 seconds")
	tick(t, s, 0, 0)
	require.Empty(t, offered(t, s, node.AvailableFilter{}), "the time begins anew")
	pass("11 seconds")
	tick(t, s, 0, 1)
	require.Len(t, offered(t, s, node.AvailableFilter{}), 1)
	pass("10 minutes")
	lose()
	tick(t, s, 1, 0)
	covering(t, s, "c1")
	tick(t, s, 0, 1)
}

func TestWhatIsOffered(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	covering(t, s, "c1")
	free := `UPDATE nodes SET power_state = 'power off', resource_class = 'gold', traits = '{CUSTOM_A,CUSTOM_B}' WHERE uuid = $1`
	for name, c := range map[string]struct {
		sql  string
		f    node.AvailableFilter
		want bool
	}{
		"a free node":                          {``, node.AvailableFilter{}, true},
		"in another state":                     {`provision_state = 'manageable'`, node.AvailableFilter{}, false},
		"with an instance":                     {`instance_uuid = gen_random_uuid()`, node.AvailableFilter{}, false},
		"allocated":                            {`allocation_uuid = gen_random_uuid()`, node.AvailableFilter{}, false},
		"of unknown power":                     {`power_state = NULL`, node.AvailableFilter{}, false},
		"of erring power":                      {`power_state = 'error'`, node.AvailableFilter{}, false},
		"retired":                              {`retired = true`, node.AvailableFilter{}, false},
		"with a fault":                         {`fault = 'power failure'`, node.AvailableFilter{}, false},
		"of the class":                         {``, node.AvailableFilter{ResourceClass: ptr("gold")}, true},
		"of another class":                     {``, node.AvailableFilter{ResourceClass: ptr("tin")}, false},
		"of the group":                         {``, node.AvailableFilter{ConductorGroup: ptr("")}, true},
		"of another group":                     {``, node.AvailableFilter{ConductorGroup: ptr("x")}, false},
		"of the owner":                         {`owner = 'ann'`, node.AvailableFilter{Owner: ptr("ann")}, true},
		"of the lessee":                        {`lessee = 'ann'`, node.AvailableFilter{Owner: ptr("ann")}, true},
		"of another owner":                     {`owner = 'bob'`, node.AvailableFilter{Owner: ptr("ann")}, false},
		"with the trait":                       {``, node.AvailableFilter{Traits: []string{"CUSTOM_A"}}, true},
		"without the trait":                    {``, node.AvailableFilter{Traits: []string{"CUSTOM_A", "CUSTOM_C"}}, false},
		"in maintenance":                       {`maintenance = true`, node.AvailableFilter{}, true},
		"in maintenance, not asked for":        {`maintenance = true`, node.AvailableFilter{Traits: []string{"CUSTOM_A"}}, false},
		"in maintenance, asked for":            {`maintenance = true`, node.AvailableFilter{Traits: []string{"CUSTOM_A", node.TraitMaintenance}}, true},
		"not in maintenance, which is asked":   {``, node.AvailableFilter{Traits: []string{node.TraitMaintenance}}, false},
		"in maintenance with a fault":          {`maintenance = true, fault = 'clean failure'`, node.AvailableFilter{}, false},
		"in maintenance, that nobody covers":   {`maintenance = true, conductor_group = 'x'`, node.AvailableFilter{}, false},
		"that nobody covers, which one covers": {`conductor_group = 'x'`, node.AvailableFilter{ConductorGroup: ptr("x")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			raw(t, url, `DELETE FROM operations`)
			raw(t, url, `DELETE FROM nodes`)
			n := create(t, s, node.Available)
			raw(t, url, free, n.UUID)
			if c.sql != "" {
				raw(t, url, fmt.Sprintf(`UPDATE nodes SET %s`, c.sql))
			}
			nodes, err := s.Available(t.Context(), c.f)
			require.NoError(t, err)
			require.Equal(t, c.want, len(nodes) == 1)
			if c.want {
				require.Equal(t, ask[bool](t, url, `SELECT maintenance FROM nodes`), len(nodes[0].Requires) == 1)
			}
			if c.want && c.f.Marker == "" {
				_, err = s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
					return &node.Request{Open: &node.Operation{Kind: node.KindPower}}, nil
				})
				require.NoError(t, err)
				require.Empty(t, offered(t, s, c.f), "a node under operation")
			}
		})
	}
}

func TestOffersComeInPages(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	covering(t, s, "c1")
	var want, got []string
	for range 5 {
		want = append(want, create(t, s, node.Available).UUID)
	}
	raw(t, url, `UPDATE nodes SET power_state = 'power on'`)
	for marker := ""; ; {
		page, err := s.Available(t.Context(), node.AvailableFilter{Limit: 2, Marker: marker})
		require.NoError(t, err)
		for _, n := range page {
			got, marker = append(got, n.UUID), n.UUID
		}
		if len(page) < 2 {
			break
		}
	}
	require.Equal(t, want, got)
	_, err := s.Available(t.Context(), node.AvailableFilter{Marker: someUUID()})
	kind(t, fault.NotFound, err)
}

// A quarantine begins with the loss of coverage after which the node was offered to nobody. If conductors come and go so
// often that the quarantine is held, a further loss does not begin another one.
func TestSinceOfAQuarantineIsWhenItBegan(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Available)
	i := covering(t, s, "c1")
	tick(t, s, 0, 0)
	var begun time.Time
	lost := func(anew bool) {
		require.NoError(t, s.StopConductor(t.Context(), "c1", i))
		if anew {
			begun = ask[time.Time](t, url, `SELECT stopped_at FROM conductors`)
		}
		require.True(t, begun.Equal(quarantine(t, s, n.UUID).Since), "before reconciliation has noted it")
		_, err := s.Quarantine(t.Context())
		require.NoError(t, err)
		q := quarantine(t, s, n.UUID)
		require.True(t, begun.Equal(q.Since), "%s, and not %s", begun, q.Since)
		require.False(t, q.Held)
		i = covering(t, s, "c1")
		_, err = s.Quarantine(t.Context())
		require.NoError(t, err)
	}
	lost(true)
	require.Nil(t, quarantine(t, s, n.UUID), "it is offered again")
	lost(true)
	lost(true)
	held := func() {
		q := quarantine(t, s, n.UUID)
		require.True(t, q.Held)
		require.True(t, begun.Equal(q.Since), "it is in quarantine since %s, and not %s", begun, q.Since)
	}
	held()
	lost(false)
	held()
	require.Equal(t, begun, ask[time.Time](t, url, `SELECT since FROM quarantines`))
}

func TestSinceOfMaintenanceIsWhenItWasSetFirst(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Available)
	since := func() *time.Time {
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		return got.MaintenanceSince
	}
	require.Nil(t, since())
	require.NoError(t, maintain(t, s, n.UUID, true, "fan", "ann"))
	first := since()
	require.NotNil(t, first)
	require.NoError(t, maintain(t, s, n.UUID, true, "and disk", "bob"))
	_, err := s.UpdateNode(t.Context(), n.UUID, "ann", func(n *node.Node) (node.Secrets, error) { n.MaintenanceReason = "mine"; return nil, nil })
	require.NoError(t, err)
	raw(t, url, `UPDATE nodes SET fault = 'clean failure'`)
	require.Equal(t, first, since(), "it is in maintenance all the time")
	require.NoError(t, maintain(t, s, n.UUID, false, "", "ann"))
	require.Nil(t, since())
	_, err = s.UpdateNode(t.Context(), n.UUID, "ann", func(n *node.Node) (node.Secrets, error) { n.Maintenance = true; return nil, nil })
	require.NoError(t, err)
	require.True(t, since().After(*first))
}
