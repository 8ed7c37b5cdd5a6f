package redfish_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/sim"
)

// subscribers is a redfish.SubscriptionBook, and the API that takes the events.
type subscribers struct {
	url string

	mu       sync.Mutex
	made     int
	happened map[string]func() // by id, of those that are not over
	left     []string
}

func newSubscribers(t *testing.T) *subscribers {
	b := &subscribers{happened: map[string]func(){}}
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		happened := b.happened[node.SubscriptionID(r.URL.Path)]
		b.mu.Unlock()
		if happened != nil {
			happened()
		}
	}))
	t.Cleanup(web.Close)
	b.url = web.URL
	return b
}

func (b *subscribers) Begin(_ context.Context, _ string, happened func()) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	destination := fmt.Sprintf("%s%ssecret-%d", b.url, node.EventPath, b.made)
	b.happened[node.SubscriptionID(destination)] = happened
	return destination, nil
}

func (b *subscribers) Ended(_ context.Context, ids ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		delete(b.happened, id)
		b.left = slices.DeleteFunc(b.left, func(l string) bool { return l == id })
	}
}

func (b *subscribers) Abandoned(_ context.Context, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = append(b.left, id)
}

func (b *subscribers) Left(context.Context, string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.left)
}

// open counts the subscriptions that the book knows, and those that were left.
func (b *subscribers) open() (known, left int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.happened), len(b.left)
}

// subscribed returns the destinations of the subscriptions that the rack's only BMC has.
func subscribed(t *testing.T, l listing) (out []string) {
	t.Helper()
	get := func(path string, into any) {
		req, err := http.NewRequest(http.MethodGet, l.Address+path, http.NoBody)
		require.NoError(t, err)
		req.SetBasicAuth(l.Username, l.Password)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		require.NoError(t, json.NewDecoder(resp.Body).Decode(into))
	}
	var all struct {
		Members []struct {
			ID string `json:"@odata.id"`
		}
	}
	get("/redfish/v1/EventService/Subscriptions", &all)
	for _, one := range all.Members {
		var s struct{ Destination string }
		get(one.ID[strings.Index(one.ID, "/redfish/"):], &s)
		out = append(out, s.Destination)
	}
	return out
}

// following is a conversation with a BMC that sends events to subscribers.
type following struct {
	bmc.Session
	events chan struct{}
	ended  chan error
	end    context.CancelFunc
}

func follow(t *testing.T, d *redfish.Driver, l listing) *following {
	f := &following{Session: talk(t, d, l.info()), events: make(chan struct{}, 100), ended: make(chan error, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	f.end = cancel
	go func() { f.ended <- f.FollowEvents(ctx, func() { f.events <- struct{}{} }) }()
	return f
}

func subscribingDriver(t *testing.T, b *subscribers) *redfish.Driver {
	c := quick()
	c.Subscriptions = b
	return newDriver(t, c)
}

func TestASubscriptionBringsEventsAndIsDeletedAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, persona := range []string{"ilo5", "ilo6", "xcc", "smc-x13"} {
		t.Run(persona, func(t *testing.T) {
			t.Parallel()
			rack, book := startRack(t, sim.Config{Personas: []string{persona}}), newSubscribers(t)
			l := listed(t, rack)
			f := follow(t, subscribingDriver(t, book), l)
			<-f.events
			require.Equal(t, []string{book.url + node.EventPath + "secret-1"}, subscribed(t, l))
			require.NoError(t, f.RequestPower(t.Context(), bmc.RequestOn))
			<-f.events
			f.end()
			require.ErrorIs(t, <-f.ended, context.Canceled)
			require.Empty(t, subscribed(t, l))
			known, left := book.open()
			require.Zero(t, known)
			require.Zero(t, left)
		})
	}
}

func TestWithoutWhoTakesEventsNobodySubscribes(t *testing.T) {
	t.Parallel()
	l := listed(t, startRack(t, sim.Config{Personas: []string{"ilo5"}}))
	err := talk(t, newDriver(t, quick()), l.info()).FollowEvents(t.Context(), func() {})
	require.True(t, fault.Is(err, fault.Refused), "%v", err)
	require.Empty(t, subscribed(t, l))
}

// The answer that has the path of the new subscription is lost, or the deletion is, or the conductor dies.
func TestASubscriptionThatWasLeftIsFoundAgain(t *testing.T) {
	t.Parallel()
	t.Run("the answer to its creation is lost", func(t *testing.T) {
		rack, book := startRack(t, sim.Config{Personas: []string{"ilo5"}}), newSubscribers(t)
		l := listed(t, rack)
		setFaults(t, rack, `{"kind":"reset","when":"after","method":"POST","path":"/Subscriptions","count":1}`)
		f := follow(t, subscribingDriver(t, book), l)
		require.Error(t, <-f.ended)
		f.end()
		require.Empty(t, subscribed(t, l), "it is looked for")
		known, left := book.open()
		require.Equal(t, []int{0, 0}, []int{known, left})
	})
	t.Run("the BMC does not show it, and may create it later", func(t *testing.T) {
		rack, book := startRack(t, sim.Config{Personas: []string{"ilo5"}}), newSubscribers(t)
		l := listed(t, rack)
		setFaults(t, rack, `{"kind":"unavailable","method":"POST","path":"/Subscriptions","count":1}`)
		f := follow(t, subscribingDriver(t, book), l)
		require.Error(t, <-f.ended)
		f.end()
		_, left := book.open()
		require.Equal(t, 1, left, "the next login looks for it")
		_, err := talk(t, subscribingDriver(t, book), l.info()).Power(t.Context())
		require.NoError(t, err)
		_, left = book.open()
		require.Zero(t, left)
	})
	t.Run("its deletion is refused", func(t *testing.T) {
		rack, book := startRack(t, sim.Config{Personas: []string{"ilo5"}}), newSubscribers(t)
		l := listed(t, rack)
		f := follow(t, subscribingDriver(t, book), l)
		<-f.events
		setFaults(t, rack, `{"kind":"unavailable","method":"DELETE","path":"/Subscriptions","count":1}`)
		f.end()
		require.Error(t, <-f.ended)
		require.Len(t, subscribed(t, l), 1)
		_, left := book.open()
		require.Equal(t, 1, left)

		other, end := startOther(t, l)
		defer end()
		_, err := talk(t, subscribingDriver(t, book), l.info()).Power(t.Context()) // a login, perhaps of another conductor
		require.NoError(t, err)
		require.Equal(t, []string{other}, subscribed(t, l), "a subscription of somebody else stays")
		_, left = book.open()
		require.Zero(t, left)
	})
}

// startOther subscribes somebody else to the events, and returns where they are sent.
func startOther(t *testing.T, l listing) (destination string, end func()) {
	t.Helper()
	destination = "http://127.0.0.1:1/theirs"
	req, err := http.NewRequest(http.MethodPost, l.Address+"/redfish/v1/EventService/Subscriptions",
		strings.NewReader(`{"Destination": "`+destination+`", "Protocol": "Redfish", "Context": "x"}`))
	require.NoError(t, err)
	req.SetBasicAuth(l.Username, l.Password)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	return destination, func() { _ = resp.Body.Close() }
}
