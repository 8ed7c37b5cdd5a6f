package redfish_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/sim"
)

// Those that a user creates and the one that Temper has for itself do not get into each other's way.
func TestSubscriptionsOfUsersAreKeptApartFromOurOwn(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 16)
	listener := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case got <- r.Header:
		default:
		}
	}))
	t.Cleanup(listener.Close)
	rack := startRack(t, sim.Config{Personas: []string{"ilo5"}})
	book := newSubscribers(t)
	conf := quick()
	conf.Subscriptions = book
	s := talk(t, newDriver(t, conf), listed(t, rack).info())
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan struct{}, 16)
	ended := make(chan error, 1)
	go func() { ended <- s.FollowEvents(ctx, func() { began <- struct{}{} }) }()
	<-began // it has subscribed

	want := node.EventSubscription{Destination: listener.URL + "/mine?token=hunter2", Protocol: "Redfish", Context: "mine", EventTypes: []string{"Alert"}}
	made, err := s.CreateSubscription(t.Context(), want, []any{map[string]any{"Authorization": "Bearer hunter3"}})
	require.NoError(t, err)
	require.NotEmpty(t, made.ID)
	want.ID = made.ID
	require.Equal(t, want, made.EventSubscription)
	other, err := s.CreateSubscription(t.Context(), want, nil)
	require.NoError(t, err)
	require.NotEqual(t, made.ID, other.ID, "each request makes another one")

	collection, all, err := s.Subscriptions(t.Context())
	require.NoError(t, err)
	require.Equal(t, "/redfish/v1/EventService/Subscriptions/", collection)
	require.Len(t, all, 2, "without our own")
	require.Equal(t, []node.EventSubscription{made.EventSubscription, other.EventSubscription}, []node.EventSubscription{all[0].EventSubscription, all[1].EventSubscription})
	one, err := s.Subscription(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, all[0], one)

	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	authorized := func() bool {
		select {
		case h := <-got:
			return h.Get("Authorization") == "Bearer hunter3"
		default:
			return false
		}
	}
	require.Eventually(t, authorized, 10*time.Second, time.Millisecond, "events have the headers")

	require.NoError(t, s.DeleteSubscription(t.Context(), made.ID))
	requireFault(t, s.DeleteSubscription(t.Context(), made.ID), fault.NotFound)
	_, err = s.Subscription(t.Context(), "../../Systems")
	requireFault(t, err, fault.NotFound)

	var ours string
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		if id != other.ID && id != made.ID {
			requireFault(t, s.DeleteSubscription(t.Context(), id), fault.NotFound)
			ours = id
		}
	}
	require.NotEmpty(t, ours)
	require.Len(t, listed(t, rack).EventSubscriptions, 2, "ours and the other one")
	cancel()
	require.Error(t, <-ended)
	require.Equal(t, []string{want.Destination}, listed(t, rack).EventSubscriptions, "only ours has ended")
}

func TestASubscriptionThatTheBMCRefuses(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{Personas: []string{"ilo5"}})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	want := node.EventSubscription{Destination: "https://me:hunter2@a.example.org/x?token=hunter3", Protocol: "Redfish", EventTypes: []string{"Weather"}}
	_, err := s.CreateSubscription(t.Context(), want, nil)
	requireFault(t, err, fault.Invalid, "no EventTypes Weather; it has StatusChange")
	want.EventTypes, want.Protocol = []string{"Alert"}, "Pigeon"
	_, err = s.CreateSubscription(t.Context(), want, []any{map[string]any{"X-Key": "hunter4"}})
	requireFault(t, err, fault.Refused)
	require.NotContains(t, err.Error(), "hunter")
	require.Empty(t, listed(t, rack).EventSubscriptions)

	s = talk(t, newDriver(t, quick()), listed(t, startRack(t, sim.Config{})).info())
	_, _, err = s.Subscriptions(t.Context())
	requireFault(t, err, fault.Refused, "no service of events")
}

// What the BMC has accepted may be there, whatever it answers afterwards: nobody may send it again without looking.
func TestASubscriptionThatWasAcceptedWithoutALocation(t *testing.T) {
	t.Parallel()
	const service, list = "/redfish/v1/EventService", "/redfish/v1/EventService/Subscriptions"
	want := node.EventSubscription{Destination: "https://listener.example.org/hunter2", Protocol: "Redfish", EventTypes: []string{"Alert"}}
	for name, c := range map[string]struct {
		fault http.HandlerFunc // of the list after it
		kind  fault.Kind
	}{
		"a list that is refused":     {answer(400), fault.Unreachable},
		"a list that is forbidden":   {answer(403), fault.Unreachable},
		"a list of a busy BMC":       {answer(429), fault.Unreachable},
		"a list of a broken BMC":     {answer(500), fault.Unreachable},
		"a list that is cut":         {cut, fault.Unreachable},
		"a list that is not of JSON": {raw("<"), fault.Unreachable},
		"a list without it":          {raw(`{"Members": []}`), fault.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.set("/redfish/v1/", map[string]any{
				"Systems": link("/redfish/v1/Systems"), "EventService": link(service),
				"Links": map[string]any{"Sessions": link("/redfish/v1/SessionService/Sessions")},
			})
			f.set(service, map[string]any{"ServiceEnabled": true, "Subscriptions": link(list)})
			f.on(http.MethodPost, list, func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusCreated)
				return true
			})
			f.on(http.MethodGet, list, func(w http.ResponseWriter, r *http.Request) bool { c.fault(w, r); return true })
			_, err := talk(t, newDriver(t, quick()), f.info(nil)).CreateSubscription(t.Context(), want, nil)
			requireFault(t, err, c.kind, "accepted the subscription")
			require.False(t, bmc.IsNotSent(err), "%v", err)
			require.Equal(t, 1, f.count("POST "+list))
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestAllVirtualDrivesOfAKindAreEmptied(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	for _, kind := range []string{"", "cd"} {
		require.NoError(t, s.InsertMedia(t.Context(), rack+"/images/deploy.iso"))
		require.Eventually(t, func() bool { return listed(t, rack).Media != nil }, 10*time.Second, time.Millisecond)
		require.NoError(t, s.EjectDrives(t.Context(), kind))
		require.Eventually(t, func() bool { return listed(t, rack).Media == nil }, 10*time.Second, time.Millisecond)
		require.NoError(t, s.EjectDrives(t.Context(), kind), "it is empty")
	}
	requireFault(t, s.EjectDrives(t.Context(), "toaster"), fault.Invalid)
	requireFault(t, s.EjectDrives(t.Context(), "floppy"), fault.Invalid, `no virtual drive of the kind "floppy"`)
}
