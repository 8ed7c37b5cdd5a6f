package redfish_test

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/test/valve"
)

// A conductor that is cut off gives up a request, another conductor sends it, and the network comes back. What the first
// conductor's kernel has not sent yet must not arrive then.
func TestARequestThatWasGivenUpNeverArrives(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var resets atomic.Int32
	f.on(http.MethodPost, "/Actions/ComputerSystem.Reset", func(http.ResponseWriter, *http.Request) bool {
		resets.Add(1)
		return false
	})
	proxy, err := valve.NewProxy()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proxy.Close()) })
	conf := quick()
	conf.RequestTimeout = 500 * time.Millisecond
	conf.Proxy, err = url.Parse(proxy.URL())
	require.NoError(t, err)
	cutOff := false
	guard := func(_ context.Context, r bmc.Request) (time.Time, error) { // right before the request is sent
		if cutOff {
			proxy.Hold()
		}
		return time.Now().Add(r.AnswerWithin), nil
	}
	s, err := newDriver(t, conf).Open(t.Context(), bmc.Target{Node: nodeID, Info: f.info(nil), Guard: guard})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	require.EqualValues(t, 1, resets.Load())

	cutOff = true
	err = s.RequestPower(t.Context(), bmc.RequestForceOff)
	requireFault(t, err, fault.Unreachable, "no answer in time")
	require.True(t, fault.NoAnswer(err))
	proxy.Open()
	require.Eventually(t, func() bool { _, err := s.Power(t.Context()); return err == nil }, 30*time.Second, 20*time.Millisecond)
	require.Never(t, func() bool { return resets.Load() > 1 }, 300*time.Millisecond, 20*time.Millisecond)
}
