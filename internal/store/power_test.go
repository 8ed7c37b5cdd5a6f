package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// owned gives all nodes to the one conductor.
const owned = `INSERT INTO ring_owners SELECT n.id, c.id FROM nodes n, conductors c`

func due(t testing.TB, s *store.Store) []node.Node {
	t.Helper()
	nodes, err := s.PowerDue(t.Context(), "c1", []string{"fake-hardware"}, 0, 100)
	require.NoError(t, err)
	return nodes
}

func TestPowerIsReadOfNodesThatNothingHolds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql  string
		want int
	}{
		"a node":                         {`UPDATE nodes SET power_state = NULL`, 1},
		"one in maintenance":             {`UPDATE nodes SET maintenance = true`, 0},
		"one with a power failure":       {`UPDATE nodes SET maintenance = true, fault = 'power failure'`, 1},
		"one with another fault":         {`UPDATE nodes SET maintenance = true, fault = 'clean failure'`, 0},
		"one that was never verified":    {`UPDATE nodes SET provision_state = 'enroll'`, 0},
		"one of another conductor":       {`UPDATE ring_owners SET conductor_id = conductor_id + 1`, 0},
		"one without a conductor":        {`DELETE FROM ring_owners`, 0},
		"one of another driver":          {`UPDATE nodes SET driver = 'redfish'`, 0},
		"one that an operation holds":    {`INSERT INTO operations (node_id, node_uuid, kind, phase, origin, conductor_group, driver) SELECT id, uuid, 'power', 'accepted', 'active', '', driver FROM nodes`, 0},
		"one that an operation has held": {`INSERT INTO operations (node_id, node_uuid, kind, phase, outcome, ended_at, origin, conductor_group, driver) SELECT id, uuid, 'power', 'ended', 'failed', now(), 'active', '', driver FROM nodes`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := openURL(t)
			covering(t, s, "c1")
			create(t, s, node.Active)
			raw(t, url, owned)
			raw(t, url, c.sql)
			require.Len(t, due(t, s), c.want)
		})
	}
}

func TestAReadingNeverTouchesANodeUnderOperationOrANewerReading(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	covering(t, s, "c1")
	n := create(t, s, node.Available)
	raw(t, url, owned)
	record := func(p node.PowerSeen) bool {
		p.UUID = n.UUID
		wrote, err := s.RecordPower(t.Context(), p)
		require.NoError(t, err)
		return wrote
	}
	require.True(t, record(node.PowerSeen{State: node.PowerOn}))
	old := due(t, s)[0]
	require.Equal(t, node.PowerOn, old.PowerState)
	require.True(t, record(node.PowerSeen{State: node.PowerOff, ReadAt: old.PowerReadAt}))
	require.False(t, record(node.PowerSeen{State: node.PowerOn, ReadAt: old.PowerReadAt}), "somebody has read it since")
	require.False(t, record(node.PowerSeen{Failure: "late"}))

	now := due(t, s)[0]
	o, err := s.Request(t.Context(), n.UUID, deploy)
	require.NoError(t, err)
	require.False(t, record(node.PowerSeen{State: node.PowerOn, ReadAt: now.PowerReadAt}))
	require.False(t, record(node.PowerSeen{Failure: "gone", ReadAt: now.PowerReadAt}))
	require.Equal(t, "power off", ask[string](t, url, `SELECT power_state FROM nodes`))
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: "x"})
	require.NoError(t, err)

	require.True(t, record(node.PowerSeen{Failure: node.PowerUnread + ": no answer", ReadAt: now.PowerReadAt}))
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.True(t, got.Maintenance)
	require.Equal(t, node.FaultPower, got.Fault)
	require.True(t, got.MaintenanceByFault)
	require.Equal(t, node.PowerUnread+": no answer", got.MaintenanceReason)
	require.Empty(t, got.PowerState)
	require.True(t, record(node.PowerSeen{State: node.PowerOn, ReadAt: now.PowerReadAt}))
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.False(t, got.Maintenance, "lifted by itself")
	require.False(t, got.MaintenanceByFault)
	require.Empty(t, got.Fault+got.MaintenanceReason)

	_, err = s.SetMaintenance(t.Context(), n.UUID, true, "fan", "ann")
	require.NoError(t, err)
	require.False(t, record(node.PowerSeen{Failure: node.PowerUnread + ": no answer", ReadAt: got.PowerReadAt}), "an operator's maintenance is left alone")
	require.True(t, record(node.PowerSeen{State: node.PowerOff, ReadAt: got.PowerReadAt}))
	require.Equal(t, "fan", ask[string](t, url, `SELECT maintenance_reason FROM nodes`))

	_, err = s.SetMaintenance(t.Context(), n.UUID, false, "", "ann")
	require.NoError(t, err)
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.True(t, record(node.PowerSeen{Failure: node.PowerUnread + ": no answer", ReadAt: got.PowerReadAt}))
	_, err = s.SetMaintenance(t.Context(), n.UUID, true, "fan", "ann")
	require.NoError(t, err)
	require.True(t, record(node.PowerSeen{State: node.PowerOn, ReadAt: got.PowerReadAt}))
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, "fan", got.MaintenanceReason)
	require.True(t, got.Maintenance, "an operator's since, it is not lifted by itself")
	require.Empty(t, got.Fault)
}

func TestAReadingWithoutNewsMakesThePowerStateYoungAndChangesNoNode(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	covering(t, s, "c1")
	n := create(t, s, node.Available)
	raw(t, url, owned)
	_, err := s.RecordPower(t.Context(), node.PowerSeen{UUID: n.UUID, State: node.PowerOn})
	require.NoError(t, err)
	raw(t, url, `UPDATE nodes SET power_read_at = now() - interval '180 hours'`)
	again := func(state node.PowerState, ago time.Duration) {
		t.Helper()
		require.NoError(t, s.RecordPowerReadAgain(t.Context(), []node.PowerReadAgain{{ID: n.ID, State: state, At: time.Now().Add(-ago)}, {ID: n.ID + 1000, State: state}}))
	}
	// aged requires that the power state was read so many hours ago, whoever asks.
	aged := func(hours int, why string) {
		t.Helper()
		byUUID, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		listed, err := s.Nodes(t.Context(), node.Filter{}, node.Page{})
		require.NoError(t, err)
		many, err := s.NodesByUUID(t.Context(), []string{n.UUID})
		require.NoError(t, err)
		for _, got := range []node.Node{*byUUID, listed[0], many[0], due(t, s)[0]} {
			require.WithinDuration(t, time.Now().Add(-time.Duration(hours)*time.Hour), *got.PowerReadAt, 30*time.Minute, why)
		}
	}
	version := func() string {
		return ask[string](t, url, `SELECT ctid::text || xmin || ' ' || power_read_at FROM nodes`)
	}

	aged(180, "as it was written")
	was := version()
	again(node.PowerOn, 2*time.Hour)
	aged(2, "it was read again")
	again(node.PowerOn, time.Hour)
	aged(1, "and again")
	again(node.PowerOn, 3*time.Hour)
	aged(1, "an older reading is nothing new")
	again(node.PowerOff, 0)
	aged(1, "that is not the state that is recorded")
	require.Equal(t, was, version(), "the node's row is the same")
	require.Equal(t, 1, ask[int](t, url, `SELECT count(*) FROM power_readings`), "what is no node is left out")

	read := due(t, s)[0]
	wrote, err := s.RecordPower(t.Context(), node.PowerSeen{UUID: n.UUID, State: node.PowerOff, ReadAt: read.PowerReadAt})
	require.NoError(t, err)
	require.True(t, wrote)
	aged(0, "it has changed")
	raw(t, url, `UPDATE nodes SET power_state = 'power off', power_read_at = now() - interval '10 hours'`)
	aged(10, "the reading without news was of another state")
	again(node.PowerOff, 12*time.Hour)
	aged(10, "read before the state was written")
	again(node.PowerOff, 5*time.Hour)
	aged(5, "it was read again since")
	wrote, err = s.RecordPower(t.Context(), node.PowerSeen{UUID: n.UUID, State: node.PowerOn, ReadAt: read.PowerReadAt})
	require.NoError(t, err)
	require.False(t, wrote, "somebody has read it since")
	read = due(t, s)[0]
	wrote, err = s.RecordPower(t.Context(), node.PowerSeen{UUID: n.UUID, Failure: node.PowerUnread, ReadAt: read.PowerReadAt})
	require.NoError(t, err)
	require.True(t, wrote)
	aged(5, "unknown now, and known last when it was read last")
	again(node.PowerOff, 0)
	aged(5, "what was read before the failure")

	raw(t, url, `DELETE FROM nodes`)
	require.Zero(t, ask[int](t, url, `SELECT count(*) FROM power_readings`))
}

// The state that a silent BMC had is as old for whoever asks it as for everybody else: its record is compared with the age.
func TestTheAgeOfASilentBMCsPowerIsThatOfItsLastReading(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	covering(t, s, "c1")
	n := create(t, s, node.Available)
	raw(t, url, owned)
	raw(t, url, `UPDATE nodes SET power_state = 'power on', power_read_at = now() - interval '3 hours'`)
	require.NoError(t, s.RecordPowerReadAgain(t.Context(), []node.PowerReadAgain{{ID: n.ID, State: node.PowerOn, At: time.Now()}}))
	silent(t, s, n, -time.Second)
	nodes, err := s.SilentDue(t.Context(), "c1", []string{"fake-hardware"}, time.Hour, 10)
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	require.WithinDuration(t, time.Now(), *nodes[0].PowerReadAt, 30*time.Minute)
	wrote, err := s.RecordPower(t.Context(), node.PowerSeen{UUID: n.UUID, State: node.PowerOff, ReadAt: nodes[0].PowerReadAt})
	require.NoError(t, err)
	require.True(t, wrote)
}

func TestTheSecretsOfManyBMCsAreReadAtOnceAndNoOthers(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	with := create(t, s, node.Available)
	bare := create(t, s, node.Available)
	_, err := s.Request(t.Context(), with.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Secrets: node.Secrets{"driver_info/redfish_password": "hunter2", "instance_info/configdrive": "c2VjcmV0"}}, nil
	})
	require.NoError(t, err)
	ids := []node.Node{*with, *bare, {ID: bare.ID + 1}}
	secrets, err := s.DriverSecrets(t.Context(), ids)
	require.NoError(t, err)
	require.Equal(t, map[int64]node.Secrets{with.ID: {"driver_info/redfish_password": "hunter2"}, bare.ID: {}}, secrets)

	raw(t, url, `UPDATE secrets SET ciphertext = 'spoilt' WHERE name = 'driver_info/redfish_password'`)
	secrets, err = s.DriverSecrets(t.Context(), ids)
	require.NoError(t, err)
	require.Equal(t, map[int64]node.Secrets{bare.ID: {}}, secrets, "a BMC is never told ******")
}
