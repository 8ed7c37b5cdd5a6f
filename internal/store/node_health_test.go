package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func healthDue(t testing.TB, s *store.Store) []node.HealthDue {
	t.Helper()
	due, err := s.HealthDue(t.Context(), "c1", []string{"fake-hardware"}, 0, 100)
	require.NoError(t, err)
	return due
}

func fanFailed(at time.Time) []node.HealthReason {
	return []node.HealthReason{{Kind: node.ComponentFan, Name: "Fan 1", Severity: node.HealthCritical, Message: "it stands still", Since: at}}
}

func TestHealthIsReadOfNodesThatNothingHolds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql  string
		want int
	}{
		"a node":                      {`SELECT`, 1},
		"one that somebody mends":     {`UPDATE nodes SET maintenance = true`, 1},
		"one whose BMC is silent":     {`UPDATE nodes SET maintenance = true, fault = 'power failure'`, 0},
		"one whose BMC is asked now":  {`INSERT INTO bmc_silences (node_id, bmc, asked_at, asked_by, next_at, seen) SELECT id, 'b', now(), 'c1', now() + interval '3 minutes', 'no answer' FROM nodes`, 0},
		"one whose BMC nobody asks":   {`INSERT INTO bmc_silences (node_id, bmc, asked_at, asked_by, next_at, seen) SELECT id, 'b', now(), 'c1', now() - interval '6 minutes', 'no answer' FROM nodes`, 1},
		"one that was never verified": {`UPDATE nodes SET provision_state = 'enroll'`, 0},
		"one of another conductor":    {`UPDATE ring_owners SET conductor_id = conductor_id + 1`, 0},
		"one of another driver":       {`UPDATE nodes SET driver = 'redfish'`, 0},
		"one that an operation holds": {`INSERT INTO operations (node_id, node_uuid, kind, phase, origin, conductor_group, driver) SELECT id, uuid, 'power', 'accepted', 'active', '', driver FROM nodes`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := openURL(t)
			covering(t, s, "c1")
			create(t, s, node.Active)
			raw(t, url, owned)
			raw(t, url, c.sql)
			require.Len(t, healthDue(t, s), c.want)
		})
	}
}

func TestHealthIsKeptAndToldWhenItChanges(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	covering(t, s, "c1")
	sick, well := create(t, s, node.Available), create(t, s, node.Available)
	raw(t, url, owned)
	never, err := s.NodeHealth(t.Context(), sick.Name)
	require.NoError(t, err)
	require.Equal(t, node.Health{Status: node.HealthUnknown, Reasons: []node.HealthReason{}}, never.Health)

	at := time.Now().UTC().Truncate(time.Millisecond)
	record := func(of *node.Node, status node.HealthStatus, reasons []node.HealthReason, when time.Time) {
		t.Helper()
		require.NoError(t, s.RecordHealth(t.Context(), []node.HealthSeen{
			{ID: of.ID, Health: node.Health{Status: status, Reasons: reasons, Since: &at, ReadAt: &when}},
			{ID: 1 << 40, Health: node.Health{Status: status, Since: &at, ReadAt: &when}}, // deleted meanwhile
		}))
	}
	record(well, node.HealthOK, nil, at)
	record(sick, node.HealthOK, nil, at)
	record(sick, node.HealthCritical, fanFailed(at), at.Add(time.Second))
	record(sick, node.HealthCritical, fanFailed(at), at.Add(2*time.Second))
	record(sick, node.HealthOK, nil, at.Add(-time.Minute)) // an older reading comes late
	now, err := s.NodeHealth(t.Context(), sick.UUID)
	require.NoError(t, err)
	require.Equal(t, node.HealthCritical, now.Status)
	require.Equal(t, fanFailed(at), now.Reasons)
	require.Equal(t, at.Add(2*time.Second), *now.ReadAt)
	require.False(t, now.Withheld)
	for _, d := range healthDue(t, s) {
		if d.ID == sick.ID {
			require.Equal(t, now.Health, d.Before)
		}
	}
	bad, err := s.HealthList(t.Context(), node.HealthFilter{Status: node.HealthCritical})
	require.NoError(t, err)
	require.Equal(t, []node.NodeHealth{*now}, bad)
	all, err := s.HealthList(t.Context(), node.HealthFilter{})
	require.NoError(t, err)
	require.Len(t, all, 2)
	next, err := s.HealthList(t.Context(), node.HealthFilter{After: all[0].ID})
	require.NoError(t, err)
	require.Equal(t, all[1:], next)

	list, _, err := s.Events(t.Context(), events.Query{Through: 1 << 40, Filter: events.Filter{Types: []string{"node.health_changed"}}, Limit: 100})
	require.NoError(t, err)
	require.Len(t, list, 1, "neither the first reading of a healthy node nor a reading that says the same")
	require.Equal(t, map[string]any{
		"previous_health": "ok", "health": "critical", "health_reasons": []any{map[string]any{"kind": "fan", "name": "Fan 1", "severity": "critical"}},
	}, list[0].Data)

	strict := connect(t, store.Config{URL: url, Keyset: keyset, WithholdUnhealthy: true, ConductorTimeout: time.Hour})
	held, err := strict.NodeHealth(t.Context(), sick.Name)
	require.NoError(t, err)
	require.True(t, held.Withheld)
}

func TestNodesInCriticalHealthAreWithheldIfTheSettingSaysSo(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 2)
	raw(t, url, `INSERT INTO node_health (node_id, status, since, read_at) SELECT id, CASE name WHEN 'gold-1' THEN 'critical' ELSE 'warning' END, now(), now() FROM nodes`)
	strict := connect(t, store.Config{URL: url, Keyset: keyset, WithholdUnhealthy: true, ConductorTimeout: time.Hour})
	names := func(of *store.Store) (out []string) {
		offers, err := of.Available(t.Context(), node.AvailableFilter{})
		require.NoError(t, err)
		for _, o := range offers {
			out = append(out, o.Name)
		}
		return out
	}
	require.Equal(t, []string{"gold-1", "gold-2"}, names(s))
	require.Equal(t, []string{"gold-2"}, names(strict))
	given := allocate(t, strict, node.Allocation{ResourceClass: "gold"})
	require.Equal(t, node.Allocated, given.State)
	none := allocate(t, strict, node.Allocation{ResourceClass: "gold"})
	require.Equal(t, node.AllocError, none.State)
	require.Contains(t, none.LastError, "1 in critical health")
	require.Equal(t, node.Allocated, allocate(t, s, node.Allocation{ResourceClass: "gold"}).State, "without the setting it is offered")
}
