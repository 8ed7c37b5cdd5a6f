package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
	"go.temper.dev/temper/internal/store"
)

// serviceBeats is a heartbeat of a service, followed by the epoch that it needs.
func serviceBeats(t testing.TB, s *store.Store, h share.Heartbeat) (share.Service, int64) {
	t.Helper()
	v, epoch, revision, err := s.ComputeHeartbeat(t.Context(), h)
	require.NoError(t, err)
	if revision > 0 {
		p, err := s.PublishShares(t.Context(), revision, share.Decide)
		require.NoError(t, err)
		epoch = p.Epoch
	}
	return v, epoch
}

func TestRow08ManyServicesRegisterAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	for range 20 {
		create(t, s, node.Available)
	}
	other := connect(t, store.Config{URL: s.URL(), Keyset: keyset}) // a second process
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			via := []*store.Store{s, other}[i%2]
			host := fmt.Sprintf("compute-%02d", i)
			_, epoch := serviceBeats(t, via, share.Heartbeat{Host: host, Incarnation: 1})
			p, err := via.SharePage(t.Context(), host, 0, "", 10)
			require.NoError(t, err)
			require.GreaterOrEqual(t, p.Epoch, epoch, "it is in the published epoch")
		})
	}
	all.Wait()
	stale, err := s.SharesStale(t.Context())
	require.NoError(t, err)
	require.False(t, stale, "nobody's registration was lost on the way")
}

// A client pages through a share, and a node is deleted meanwhile. The next page must not begin at the start again, or the
// client would publish nodes twice.
func TestAShareIsNotPagedFromItsBeginningAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	for range 3 {
		create(t, s, node.Available)
	}
	serviceBeats(t, s, share.Heartbeat{Host: "compute-1", Incarnation: 1})
	first, err := s.SharePage(t.Context(), "compute-1", 0, "", 2)
	require.NoError(t, err)
	require.Len(t, first.Nodes, 2)
	last := first.Nodes[1].UUID
	rest, err := s.SharePage(t.Context(), "compute-1", first.Epoch, last, 2)
	require.NoError(t, err)
	require.Len(t, rest.Nodes, 1)
	end, err := s.SharePage(t.Context(), "compute-1", first.Epoch, rest.Nodes[0].UUID, 2)
	require.NoError(t, err)
	require.Empty(t, end.Nodes)
	require.NoError(t, s.DeleteNode(t.Context(), last, "ann", func(*node.Node) error { return nil }))
	_, err = s.SharePage(t.Context(), "compute-1", first.Epoch, last, 2)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}
