package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestTheNewestProcessHasTheName(t *testing.T) {
	t.Parallel()
	s, url := expiring(t)
	c := coverage.Conductor{Hostname: "c1", Group: "rack-1", Interfaces: map[string]map[string][]string{"redfish": {"power": {"redfish"}}}}
	older, err := s.RegisterConductor(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, beat(t, s, "c1", older))
	newer, err := s.RegisterConductor(t.Context(), c)
	require.NoError(t, err)
	require.Greater(t, newer, older)
	kind(t, fault.Lost, beat(t, s, "c1", older))
	kind(t, fault.Lost, s.DrainConductor(t.Context(), "c1", older))
	kind(t, fault.Lost, s.StopConductor(t.Context(), "c1", older))

	got, err := s.Conductor(t.Context(), "c1")
	require.NoError(t, err)
	require.True(t, got.Alive)
	require.Equal(t, c.Interfaces, got.Interfaces)
	raw(t, url, "UPDATE conductors SET heartbeat_at = clock_timestamp() - interval '15.5 seconds'")
	got, err = s.Conductor(t.Context(), "c1")
	require.NoError(t, err)
	require.False(t, got.Alive, "its heartbeat is too old")
	require.NoError(t, beat(t, s, "c1", newer))
	require.NoError(t, s.DrainConductor(t.Context(), "c1", newer))
	all, err := s.Conductors(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.True(t, all[0].Alive)
	require.True(t, all[0].Draining)
	require.NoError(t, s.StopConductor(t.Context(), "c1", newer))
	require.NoError(t, s.StopConductor(t.Context(), "c1", newer))
	kind(t, fault.Lost, beat(t, s, "c1", newer))
	got, err = s.Conductor(t.Context(), "c1")
	require.NoError(t, err)
	require.False(t, got.Alive)
	require.NotNil(t, got.StoppedAt)
	_, err = s.RegisterConductor(t.Context(), c)
	require.NoError(t, err)
	got, err = s.Conductor(t.Context(), "c1")
	require.NoError(t, err)
	require.True(t, got.Alive && !got.Draining && got.StoppedAt == nil)
	_, err = s.Conductor(t.Context(), "c2")
	kind(t, fault.NotFound, err)
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	enabled := map[string]map[string][]string{"redfish": {"power": {"redfish", "fake"}, "boot": {"redfish-virtual-media"}}, "fake-hardware": {}}
	incarnations := map[string]int64{}
	for name, group := range map[string]string{"a": "rack-1", "b": "rack-1", "c": "rack-1", "d": "rack-2", "e": "rack-1"} {
		i, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name, Group: group, Interfaces: enabled})
		require.NoError(t, err)
		incarnations[name] = i
	}
	require.NoError(t, s.DrainConductor(t.Context(), "c", incarnations["c"]))
	raw(t, url, "UPDATE conductors SET heartbeat_at = heartbeat_at - interval '1 hour' WHERE hostname = 'e'")
	covered := func(group, driver string, interfaces map[string]string) []string {
		return whoCovers(t, s, url, &node.Node{Driver: driver, ConductorGroup: group, Interfaces: interfaces})
	}
	require.Equal(t, []string{"a", "b"}, covered("rack-1", "redfish", nil))
	require.Equal(t, []string{"a", "b"}, covered("rack-1", "redfish", map[string]string{"power": "fake", "boot": "redfish-virtual-media"}))
	require.Empty(t, covered("rack-1", "redfish", map[string]string{"power": "ipmitool"}))
	require.Empty(t, covered("rack-1", "redfish", map[string]string{"raid": "redfish"}))
	require.Equal(t, []string{"d"}, covered("rack-2", "fake-hardware", nil))
	require.Empty(t, covered("", "redfish", nil))
	require.Empty(t, covered("rack-1", "ipmi", nil))
}
