package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

func TestTheSessionsOfADeadConductorAreLeft(t *testing.T) {
	t.Parallel()
	s := open(t)
	register := func(name string) int64 {
		incarnation, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name})
		require.NoError(t, err)
		return incarnation
	}
	opened := func(conductor, address, path string) (paths []string) {
		left, err := s.OpenedBMCSession(t.Context(), conductor, address, node.BMCSession{Path: path, Created: "when " + path + " was"})
		require.NoError(t, err)
		for _, one := range left {
			require.Equal(t, "when "+one.Path+" was", one.Created)
			paths = append(paths, one.Path)
		}
		return paths
	}
	first := register("c1")
	register("c2")
	require.Empty(t, opened("c1", "https://bmc", "/1"))
	require.Empty(t, opened("c2", "https://bmc", "/2"), "both conductors are alive")
	require.Empty(t, opened("c2", "https://other", ""))

	require.NoError(t, s.StopConductor(t.Context(), "c1", first))
	require.Equal(t, []string{"/1"}, opened("c2", "https://bmc", "/3"))
	require.Empty(t, opened("c2", "https://other", ""), "it is another BMC")
	require.NoError(t, s.EndedBMCSessions(t.Context(), "https://bmc", []string{"/1"}))
	require.Empty(t, opened("c2", "https://bmc", ""))

	register("c2")
	require.Equal(t, []string{"/2", "/3"}, opened("c2", "https://bmc", "/4"), "the process that opened them is gone")
	require.Equal(t, []string{"/2", "/3"}, opened("nobody knows it", "https://bmc", "/5"))
	require.Equal(t, []string{"/2", "/3", "/5"}, opened("c2", "https://bmc", ""))
}
