package store_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// Each server has one address, which it keeps, and no two have the same, also if many ask several processes at once.
func TestNoTwoServersHaveOneAddress(t *testing.T) {
	t.Parallel()
	s := open(t)
	first, last := netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("10.0.0.107")
	lease := func(holder string, d time.Duration) string {
		t.Helper()
		a, ok, err := s.LeaseAddress(t.Context(), holder, first, last, d)
		require.NoError(t, err)
		if !ok {
			return "none"
		}
		return a.String()
	}
	require.Equal(t, "10.0.0.100", lease("a", time.Hour))
	require.Equal(t, "10.0.0.101", lease("b", time.Hour))
	require.Equal(t, "10.0.0.100", lease("a", time.Hour))

	taken := make([]netip.Addr, 6)
	var g errgroup.Group
	for i := range taken {
		g.Go(func() (err error) {
			taken[i], _, err = s.LeaseAddress(t.Context(), fmt.Sprint("c", i), first, last, time.Hour)
			return err
		})
	}
	require.NoError(t, g.Wait())
	seen := map[netip.Addr]bool{}
	for _, a := range taken {
		require.True(t, a.IsValid())
		require.False(t, seen[a], "%s was given out twice", a)
		seen[a] = true
	}
	require.Equal(t, "none", lease("d", time.Hour))

	require.NoError(t, s.ReleaseAddress(t.Context(), "b", netip.MustParseAddr("10.0.0.100")), "somebody else's")
	require.Equal(t, "none", lease("d", time.Hour))
	require.NoError(t, s.ReleaseAddress(t.Context(), "b", netip.MustParseAddr("10.0.0.101")))
	require.Equal(t, "10.0.0.101", lease("d", 0), "which is over at once")
	require.Equal(t, "10.0.0.101", lease("e", time.Hour))
	require.NoError(t, s.DeclineAddress(t.Context(), "e", netip.MustParseAddr("10.0.0.101"), time.Hour))
	require.Equal(t, "none", lease("e", time.Hour), "somebody uses it whom we do not know")
}
