package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

// seeded returns a database with 100,000 nodes, as fill makes them, and a store for which
// their conductors are alive for an hour.
func seeded(t testing.TB) (*store.Store, string) {
	t.Helper()
	url := testenv.Filled(t, "seeded", func(url string) error { return fill(url, 100_000) })
	return connect(t, store.Config{URL: url, Keyset: keyset, MaxConns: 30, ConductorTimeout: time.Hour}), url
}

// fleetOf is a store with count nodes, as fill makes them. Their conductors stay alive for an hour.
func fleetOf(t testing.TB, count int) (*store.Store, string) {
	t.Helper()
	url := testenv.Postgres(t)
	require.NoError(t, fill(url, count))
	return connect(t, store.Config{URL: url, Keyset: keyset, MaxConns: 30, ConductorTimeout: time.Hour}), url
}

// fill inserts count nodes by SQL. One in ten thousand differs from the others in
// each field by which lists are filtered. Ten conductors of each group
// cover all of them.
func fill(url string, count int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, sql := range []string{
		`
INSERT INTO chassis (uuid) VALUES ('00000000-0000-0000-0000-000000000002')`,
		`
INSERT INTO chassis (uuid) SELECT gen_random_uuid() FROM generate_series(1, ` + strconv.Itoa(count) + `)`,
		`
INSERT INTO nodes (uuid, name, driver, interfaces, conductor_group, resource_class, owner, lessee, shard, parent_node, chassis_uuid,
	instance_uuid, instance_name, provision_state, power_state, maintenance, retired, fault, description, driver_info)
SELECT gen_random_uuid(), CASE WHEN i % 3 > 0 THEN 'node-' || i END,
	CASE WHEN rare THEN 'redfish' ELSE 'fake-hardware' END, '{"power": "fake"}', CASE WHEN rare THEN 'rack-9' ELSE 'rack-' || i % 3 END,
	CASE WHEN rare THEN 'gold' ELSE 'tin' END, CASE WHEN rare THEN 'ann' END, CASE WHEN rare THEN 'bob' END, CASE WHEN rare THEN 's9' END,
	CASE WHEN rare THEN '00000000-0000-0000-0000-000000000001'::uuid END, CASE WHEN rare THEN '00000000-0000-0000-0000-000000000002'::uuid END,
	CASE WHEN rare THEN ('00000000-0000-0000-0001-' || lpad(i::text, 12, '0'))::uuid END, CASE WHEN rare THEN 'vm' END,
	CASE WHEN rare THEN 'clean failed' ELSE 'available' END, 'power off', rare, rare, CASE WHEN rare THEN 'power failure' END, 'node ' || i, '{"a": "b"}'
  FROM (SELECT i, i % 10000 = 7 AS rare FROM generate_series(1, ` + strconv.Itoa(count) + `) i) s`,
		`
INSERT INTO operations (node_id, node_uuid, kind, phase, outcome, ended_at, origin, conductor_group, driver, conductor, accepted_at)
SELECT id, uuid, 'provide', 'ended', 'succeeded', now(), 'manageable', conductor_group, driver, CASE WHEN id % 10000 = 7 THEN 'c9' ELSE 'c1' END,
	now() - (200000 - id) * interval '1 minute' FROM nodes ORDER BY id`,
		`
INSERT INTO operations (node_id, node_uuid, kind, phase, origin, conductor_group, driver)
SELECT id, uuid, 'deploy', 'accepted', 'available', conductor_group, driver FROM nodes WHERE id % 1000 = 0`,
		`
INSERT INTO operations (node_id, node_uuid, kind, phase, outcome, ended_at, error, cause, origin, conductor_group, driver)
SELECT id, uuid, 'deploy', 'ended', 'failed', now(), 'x', CASE WHEN id % 10000 = 0 THEN 'bmc_silent' ELSE 'no_conductor' END, 'available', conductor_group, driver
  FROM nodes WHERE id % 10 = 0`,
		`
INSERT INTO ports (uuid, node_id, address)
SELECT gen_random_uuid(), id, regexp_replace(lpad(to_hex(id), 12, '0'), '(..)(..)(..)(..)(..)(..)', '\1:\2:\3:\4:\5:\6') FROM nodes`,
		`
INSERT INTO portgroups (uuid, node_id, address, mode)
SELECT gen_random_uuid(), id, regexp_replace(lpad(to_hex(id), 12, '0'), '(..)(..)(..)(..)(..)(..)', '\1:\2:\3:\4:\5:\6'), 'active-backup' FROM nodes`,
		`
UPDATE ports SET portgroup_uuid = g.uuid FROM portgroups g WHERE g.node_id = ports.node_id AND ports.node_id % 10 = 0`,
		`
INSERT INTO volume_connectors (uuid, node_id, type, connector_id) SELECT gen_random_uuid(), id, 'ip', id FROM nodes`,
		`
INSERT INTO volume_targets (uuid, node_id, volume_type, volume_id, boot_index, key_id, seal) SELECT gen_random_uuid(), id, 'iscsi', id, 0, 0, 0 FROM nodes`,
		`
INSERT INTO deploy_templates (uuid, name, steps, key_id, seal) SELECT gen_random_uuid(), 'CUSTOM_' || i, '[]', 0, 0 FROM generate_series(1, 100000) i`,
		`
INSERT INTO runbooks (uuid, name, steps, key_id, seal) SELECT uuid, name, steps, 0, 0 FROM deploy_templates`,
		`
INSERT INTO node_inventory (node_id, inventory, facts)
SELECT id, '{}', jsonb_build_object('BIOS', '2.' || id % 3, 'memory modules', '16 × 32 GiB', 'disks', '2 × 960 GB', 'model', 'X') FROM nodes`,
		`
INSERT INTO conductors (hostname, incarnation, conductor_group, interfaces)
SELECT 'of-' || conductor_group || '-' || i, 1, conductor_group, wants
  FROM (SELECT conductor_group, jsonb_object_agg(driver, wants -> driver) AS wants FROM needs GROUP BY conductor_group) d, generate_series(1, 10) i`,
		`
INSERT INTO node_health (node_id, status, since, read_at)
SELECT id, CASE id % 10000 WHEN 7 THEN 'critical' WHEN 8 THEN 'warning' ELSE 'ok' END, now(), now() FROM nodes`,
		`
INSERT INTO power_readings (node_id, written_at, read_at) SELECT id, now(), now() FROM nodes`,
		"VACUUM ANALYZE",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

type plan struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Plans    []plan
}

func (p plan) scans(out []string) []string {
	if strings.HasSuffix(p.Type, "Scan") && p.Relation != "" {
		out = append(out, p.Type+" on "+p.Relation)
	}
	for _, c := range p.Plans {
		out = c.scans(out)
	}
	return out
}

// explain returns the scans in the plans of all statements that f runs.
func explain(t *testing.T, url string, s *store.Store, statements []store.Statement) []string {
	t.Helper()
	var out []string
	for _, st := range statements {
		text := store.Explain(t.Context(), t, s, st)
		var plans []struct{ Plan plan }
		require.NoError(t, json.Unmarshal([]byte(text), &plans))
		out = append(out, plans[0].Plan.scans(nil)...)
	}
	return out
}

func TestNoListReadsTheWholeTable(t *testing.T) {
	t.Parallel()
	s, url := seeded(t)
	raw(t, url, `UPDATE conductors SET stopped_at = now() WHERE conductor_group = 'rack-9'`)
	raw(t, url, `UPDATE nodes SET fault = NULL WHERE description = 'node 90007'`)
	some, err := s.Nodes(t.Context(), node.Filter{}, node.Page{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, some, 1000)
	marker := some[999].UUID
	rare := func(set func(*node.Filter)) node.Filter {
		f := node.Filter{IncludeChildren: true}
		set(&f)
		return f
	}
	const parent, chassis, instance = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002", "00000000-0000-0000-0001-000000000007"
	for name, f := range map[string]node.Filter{
		"the first page":   {},
		"with children":    {IncludeChildren: true},
		"by state":         rare(func(f *node.Filter) { f.ProvisionState = ptr(node.CleanFailed) }),
		"by driver":        rare(func(f *node.Filter) { f.Driver = ptr("redfish") }),
		"by group":         rare(func(f *node.Filter) { f.ConductorGroup = ptr("rack-9") }),
		"by class":         rare(func(f *node.Filter) { f.ResourceClass = ptr("gold") }),
		"by owner":         rare(func(f *node.Filter) { f.Owner = ptr("ann") }),
		"by lessee":        rare(func(f *node.Filter) { f.Lessee = ptr("bob") }),
		"by project":       rare(func(f *node.Filter) { f.Project = ptr("bob") }),
		"by shard":         rare(func(f *node.Filter) { f.Shards = []string{"s9", "s8"} }),
		"sharded":          rare(func(f *node.Filter) { f.Sharded = ptr(true) }),
		"by parent":        rare(func(f *node.Filter) { f.ParentNode = ptr(parent) }),
		"by chassis":       rare(func(f *node.Filter) { f.ChassisUUID = ptr(chassis) }),
		"by instance":      rare(func(f *node.Filter) { f.InstanceUUID = ptr(instance) }),
		"by instance name": rare(func(f *node.Filter) { f.InstanceName = ptr("vm") }),
		"by health":        rare(func(f *node.Filter) { f.Health = ptr(node.HealthCritical) }),
		"by fault":         rare(func(f *node.Filter) { f.Fault = ptr(node.FaultPower) }),
		"associated":       rare(func(f *node.Filter) { f.Associated = ptr(true) }),
		"no conductor":     rare(func(f *node.Filter) { f.Fault = ptr(node.FaultNoConductor) }),
		"in maintenance":   rare(func(f *node.Filter) { f.Maintenance = ptr(true) }),
		"retired":          rare(func(f *node.Filter) { f.Retired = ptr(true) }),
		"not associated":   {Associated: ptr(false), Maintenance: ptr(false), Retired: ptr(false), Sharded: ptr(false)},
	} {
		for _, p := range []node.Page{{}, {Limit: 20}, {SortDir: "desc", Limit: 20}, {Marker: marker}} {
			t.Run(fmt.Sprintf("%s %+v", name, p), func(t *testing.T) {
				nodes, err := s.Nodes(t.Context(), f, p)
				require.NoError(t, err)
				if p.Marker == "" {
					require.NotEmpty(t, nodes)
				}
				scans := explain(t, url, s, store.NodesStatement(f, p))
				require.NotEmpty(t, scans)
				for _, on := range []string{"nodes", "operations", "power_readings"} {
					require.NotContains(t, scans, "Seq Scan on "+on, "%v", scans)
				}
			})
		}
	}
	for name, f := range map[string]node.OperationFilter{
		"all": {}, "of a kind": {Kind: node.KindDeploy}, "open": {Phase: node.Accepted}, "of a node": {Node: some[0].UUID}, "a later page": {Marker: 5000},
		"with an outcome": {Outcome: node.Failed}, "of a conductor": {Conductor: "c9"}, "of no conductor": {Conductor: "c8"},
		"folded": {Fold: true}, "folded, with an outcome": {Fold: true, Outcome: node.Failed},
		"since an hour ago": {Since: time.Now().Add(-time.Hour)}, "since long ago": {Since: time.Now().AddDate(-1, 0, 0)},
		"of a kind since": {Kind: node.KindProvide, Since: time.Now().Add(-70 * 24 * time.Hour)}, "of a conductor since": {Conductor: "c1", Since: time.Now().Add(-time.Hour)},
		"of a cause": {Cause: fault.BMCSilent}, "of a frequent cause": {Cause: fault.NoConductor},
	} {
		t.Run("operations "+name, func(t *testing.T) {
			require.NotContains(t, explain(t, url, s, store.OperationsStatement(f)), "Seq Scan on operations")
		})
	}
	for name, f := range map[string]node.PortFilter{
		"all": {}, "by address": {Address: ptr("00:00:00:00:00:07")}, "of a group": {Portgroup: ptr(marker)}, "of a conductor group": {ConductorGroups: []string{"rack-9"}},
	} {
		t.Run("ports "+name, func(t *testing.T) {
			scans := explain(t, url, s, store.PortsStatement(f, node.Page{}))
			require.NotContains(t, scans, "Seq Scan on ports")
			require.NotContains(t, scans, "Seq Scan on nodes")
		})
	}
	for name, st := range store.RecordStatements(7) {
		t.Run(name, func(t *testing.T) {
			for _, scan := range explain(t, url, s, []store.Statement{st}) {
				require.NotContains(t, scan, "Seq Scan")
			}
		})
	}
	for name, f := range map[string]node.AvailableFilter{"all": {}, "of a class": {ResourceClass: ptr("tin")}, "with a trait": {Traits: []string{"CUSTOM_X"}}} {
		t.Run("available "+name, func(t *testing.T) {
			scans := explain(t, url, s, []store.Statement{store.AvailableStatement(f)})
			require.NotContains(t, scans, "Seq Scan on nodes")
			require.NotContains(t, scans, "Seq Scan on operations")
		})
	}
	for name, f := range map[string]node.HealthFilter{"all": {After: 70_000}, "critical": {Status: node.HealthCritical}, "never told": {Status: node.HealthUnknown}} {
		t.Run("health "+name, func(t *testing.T) {
			scans := explain(t, url, s, store.HealthStatements(f))
			require.NotContains(t, scans, "Seq Scan on node_health")
			require.NotContains(t, scans, "Seq Scan on nodes")
		})
	}
	t.Run("shards", func(t *testing.T) {
		require.Equal(t, []string{"Index Only Scan on nodes"}, explain(t, url, s, []store.Statement{store.ShardsStatement()}))
		shards, err := s.Shards(t.Context())
		require.NoError(t, err)
		require.Equal(t, []node.Shard{{Name: "None", Count: 99_990}, {Name: "s9", Count: 10}}, shards)
	})
	t.Run("newest that ended", func(t *testing.T) {
		scans := explain(t, url, s, []store.Statement{store.NewestEndedStatement(some[0].UUID)})
		require.NotContains(t, scans, "Seq Scan on operations")
	})
	t.Run("siblings", func(t *testing.T) {
		scans := explain(t, url, s, []store.Statement{store.SiblingsStatement(5000, "tin")})
		require.NotContains(t, scans, "Seq Scan on nodes")
		require.NotContains(t, scans, "Seq Scan on node_inventory")
		h, err := s.Hardware(t.Context(), some[0].UUID)
		require.NoError(t, err)
		require.Equal(t, 1000, h.Siblings, "no more are compared")
	})
	for name, st := range store.ReconcileStatements() {
		t.Run("reconcile: "+name, func(t *testing.T) {
			require.NotContains(t, explain(t, url, s, []store.Statement{st}), "Seq Scan on operations")
		})
	}
	raw(t, url, `INSERT INTO bmc_silences (node_id, bmc, asked_at, asked_by, next_at, seen) SELECT id, uuid::text, now(), 'c1', now() + id * interval '1 s', 'no answer' FROM nodes WHERE id % 5 = 0`)
	raw(t, url, `ANALYZE bmc_silences`)
	raw(t, url, `UPDATE nodes SET console_enabled = true WHERE id % 1000 = 0`)
	raw(t, url, `ANALYZE nodes`)
	t.Run("consoles", func(t *testing.T) {
		require.NotContains(t, explain(t, url, s, []store.Statement{store.ConsolesStatement()}), "Seq Scan on nodes")
	})
	for name, st := range store.PowerStatements() {
		t.Run(name, func(t *testing.T) {
			scans := explain(t, url, s, []store.Statement{st})
			require.NotContains(t, scans, "Seq Scan on nodes", "%v", scans)
			require.NotContains(t, scans, "Seq Scan on operations", "%v", scans)
			require.NotContains(t, scans, "Seq Scan on power_readings", "%v", scans)
			if name == "silent due" {
				require.NotContains(t, scans, "Seq Scan on bmc_silences", "%v", scans)
			}
		})
	}
}

func TestPagesAreCompleteAndWithoutDoubles(t *testing.T) {
	t.Parallel()
	s, url := fleetOf(t, 2500)
	want := ask[[]string](t, url, "SELECT array_agg(uuid::text ORDER BY id) FROM nodes WHERE parent_node IS NULL")
	for _, key := range append([]string{"", "id"}, store.NodeSortKeys()...) {
		for _, dir := range []string{"asc", "desc"} {
			t.Run(key+" "+dir, func(t *testing.T) {
				var got []string
				for marker := ""; ; marker = got[len(got)-1] {
					nodes, err := s.Nodes(t.Context(), node.Filter{}, node.Page{Limit: 900, Marker: marker, SortKey: key, SortDir: dir})
					require.NoError(t, err)
					for i := range nodes {
						got = append(got, nodes[i].UUID)
					}
					if len(nodes) < 900 {
						break
					}
				}
				if key == "" || key == "id" {
					if dir == "desc" {
						slices.Reverse(got)
					}
					require.Equal(t, want, got)
				}
				slices.Sort(got)
				require.Equal(t, slices.Sorted(slices.Values(want)), got)
			})
		}
	}
}

func TestPagesThatAreNone(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, node.Available)
	for name, c := range map[string]struct {
		page node.Page
		want fault.Kind
		text string
	}{
		"an unknown sort key":      {node.Page{SortKey: "driver_info"}, fault.Invalid, `The sort_key value "driver_info" is an invalid field for sorting`},
		"hostile sort key":         {node.Page{SortKey: "id; DROP TABLE nodes"}, fault.Invalid, `The sort_key value "id; DROP TABLE nodes" is an invalid field for sorting`},
		"an unknown direction":     {node.Page{SortDir: "up"}, fault.Invalid, "Invalid sort direction: up. Acceptable values are 'asc' or 'desc'"},
		"a marker that is no uuid": {node.Page{Marker: "n1"}, fault.Invalid, "Expected a UUID but received n1."},
		"an unknown marker": {
			node.Page{Marker: "00000000-0000-0000-0000-000000000009"},
			fault.NotFound,
			"Node 00000000-0000-0000-0000-000000000009 could not be found.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Nodes(t.Context(), node.Filter{}, c.page)
			kind(t, c.want, err)
			require.Equal(t, c.text, err.Error())
		})
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s, _ := fleetOf(t, 10_000)
	count := func(f node.Filter) int {
		nodes, err := s.Nodes(t.Context(), f, node.Page{})
		require.NoError(t, err)
		return len(nodes)
	}
	require.Equal(t, 1000, count(node.Filter{}), "a page has a bound")
	require.Zero(t, count(node.Filter{Driver: ptr("redfish")}), "children are hidden")
	require.Equal(t, 1, count(node.Filter{Driver: ptr("redfish"), IncludeChildren: true}))
	require.Equal(t, 1, count(node.Filter{ParentNode: ptr("00000000-0000-0000-0000-000000000001")}))
	require.Zero(t, count(node.Filter{ParentNode: ptr("no uuid")}))
	require.Equal(t, 11, count(node.Filter{DescriptionContains: ptr("NODE 777")}), "777 and 7770 to 7779")
	require.Zero(t, count(node.Filter{DescriptionContains: ptr("%")}), "nothing in it is a pattern")
}
