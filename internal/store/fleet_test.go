package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestTwoThatDrainAtOnceLeaveOne(t *testing.T) {
	t.Parallel()
	c := clock(t)
	create(t, c.s, node.Available)
	c.covering("a", "b")
	errs := map[string]error{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, host := range both {
		wg.Go(func() {
			_, err := c.s.AskDrain(t.Context(), host, false)
			mu.Lock()
			defer mu.Unlock()
			errs[host] = err
		})
	}
	wg.Wait()
	require.NotEqual(t, errs["a"] == nil, errs["b"] == nil, "%v", errs)
	require.Len(t, whoCovers(t, c.s, c.url, &node.Node{Driver: "fake-hardware", Interfaces: map[string]string{"power": "fake"}}), 1)
}

func TestADrainedConductorIsToldByItsHeartbeatUntilItIsStartedAgain(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.covering("a")
	_, err := c.s.AskDrain(t.Context(), "a", false)
	require.NoError(t, err, "it covers no node")
	draining, err := c.s.HeartbeatConductor(t.Context(), "a", c.inc["a"], true)
	require.NoError(t, err)
	require.True(t, draining)
	c.covering("a")
	draining, err = c.s.HeartbeatConductor(t.Context(), "a", c.inc["a"], true)
	require.NoError(t, err)
	require.False(t, draining)
}

func TestADrainIsTakenBackUnlessTheProcessStops(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.covering("a")
	_, err := c.s.AskDrain(t.Context(), "a", true)
	require.NoError(t, err)
	k, err := c.s.AskUndrain(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, coverage.StateAlive, k.State())
	draining, err := c.s.HeartbeatConductor(t.Context(), "a", c.inc["a"], true)
	require.NoError(t, err)
	require.False(t, draining)

	require.NoError(t, c.s.DrainConductor(t.Context(), "a", c.inc["a"]))
	_, err = c.s.AskUndrain(t.Context(), "a")
	kind(t, fault.Conflict, err)
	require.ErrorContains(t, err, "is being stopped")
	require.NoError(t, c.s.StopConductor(t.Context(), "a", c.inc["a"]))
	_, err = c.s.AskUndrain(t.Context(), "a")
	kind(t, fault.Conflict, err)
	require.ErrorContains(t, err, "is stopped")
	c.covering("a")
	_, err = c.s.AskUndrain(t.Context(), "a")
	require.NoError(t, err, "it was started again")
}

func TestAForgottenConductorThatWasOnlyFrozenEnds(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.witness(true)
	c.covering("a", "b")
	kind(t, fault.Conflict, c.s.ForgetConductor(t.Context(), "a"))
	c.run(16*time.Second, "b")
	require.NoError(t, c.s.ForgetConductor(t.Context(), "a"))
	kind(t, fault.NotFound, c.s.ForgetConductor(t.Context(), "a"))
	kind(t, fault.Lost, beat(t, c.s, "a", c.inc["a"]))
	epoch(t, c.s)
}
