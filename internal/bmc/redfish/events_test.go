package redfish_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
	simredfish "go.temper.dev/temper/internal/sim/redfish"
)

func TestTheEventsOfPersonasAreFollowed(t *testing.T) {
	t.Parallel()
	streams := 0
	for _, p := range simredfish.Personas() {
		rack := startRack(t, sim.Config{Personas: []string{p.Name}})
		s := talk(t, newDriver(t, quick()), listed(t, rack).info())
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		events, ended := make(chan struct{}, 100), make(chan error, 1)
		go func() { ended <- s.FollowEvents(ctx, func() { events <- struct{}{} }) }()
		select {
		case err := <-ended:
			require.True(t, fault.Is(err, fault.Refused), "%s: %v", p.Name, err)
			cancel()
			continue
		case <-events: // it begins
		}
		streams++
		require.True(t, fault.Is(s.FollowEvents(ctx, func() {}), fault.Refused), "one at a time")
		require.NoError(t, s.RequestPower(ctx, bmc.RequestOn))
		select {
		case <-events:
		case err := <-ended:
			t.Fatalf("%s: %v", p.Name, err)
		}
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	}
	require.Positive(t, streams)
}

func TestAStreamOfEventsThatIsNoneIsRefusedOrEnds(t *testing.T) {
	t.Parallel()
	const service, path = "/redfish/v1/EventService", "/redfish/v1/EventService/SSE"
	for name, c := range map[string]struct {
		service map[string]any
		serve   http.HandlerFunc
		want    fault.Kind
		events  int
	}{
		"no stream":          {map[string]any{"ServiceEnabled": true}, nil, fault.Refused, 0},
		"switched off":       {map[string]any{"ServiceEnabled": false, "ServerSentEventUri": path}, nil, fault.Refused, 0},
		"a URI of no string": {map[string]any{"ServerSentEventUri": []int{1}}, nil, fault.Refused, 0},
		"another host":       {map[string]any{"ServerSentEventUri": "http://192.0.2.1/x"}, nil, fault.Unreachable, 0},
		"a refusal":          {map[string]any{"ServerSentEventUri": path}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, fault.Refused, 0},
		"a web page":         {map[string]any{"ServerSentEventUri": path}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, fault.Refused, 0},
		"a stream that ends": {map[string]any{"ServerSentEventUri": path}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = w.Write([]byte("data: {}\n\n"))
		}, fault.Unreachable, 2},
		"one that is cut": {map[string]any{"ServerSentEventUri": path}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, fault.Unreachable, 1},
		"one that never begins": {map[string]any{"ServerSentEventUri": path}, silent, fault.Unreachable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.set("/redfish/v1/", map[string]any{
				"Systems": link("/redfish/v1/Systems"), "EventService": link(service),
				"Links": map[string]any{"Sessions": link("/redfish/v1/SessionService/Sessions")},
			})
			f.set(service, c.service)
			if c.serve != nil {
				f.on("GET", path, func(w http.ResponseWriter, r *http.Request) bool { c.serve(w, r); return true })
			}
			events := 0
			err := talk(t, newDriver(t, quick()), f.info(nil)).FollowEvents(t.Context(), func() { events++ })
			require.Equal(t, c.want, fault.KindOf(err), "%v", err)
			require.Equal(t, c.events, events)
		})
	}
}

// The firmware may be updated while nobody is logged in.
func TestAfterALogoutItIsAskedAgainWhetherThereAreEvents(t *testing.T) {
	t.Parallel()
	const service, path = "/redfish/v1/EventService", "/redfish/v1/EventService/SSE"
	f := newFixture(t)
	f.set("/redfish/v1/", map[string]any{
		"Systems": link("/redfish/v1/Systems"), "EventService": link(service),
		"Links": map[string]any{"Sessions": link("/redfish/v1/SessionService/Sessions")},
	})
	f.set(service, map[string]any{"ServiceEnabled": false, "ServerSentEventUri": path})
	f.on("GET", path, func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/event-stream")
		return true
	})
	conf := quick()
	conf.SessionIdle = 10 * time.Millisecond
	s := talk(t, newDriver(t, conf), f.info(nil))
	require.True(t, fault.Is(s.FollowEvents(t.Context(), func() {}), fault.Refused))
	f.set(service, map[string]any{"ServiceEnabled": true, "ServerSentEventUri": path})
	require.Eventually(t, func() bool {
		begun := false
		_ = s.FollowEvents(t.Context(), func() { begun = true })
		return begun
	}, 30*time.Second, 20*time.Millisecond)
}
