package store_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/webhook"
)

const (
	hookKey    = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" // the one of the examples of Standard Webhooks
	hookSecret = "whsec_" + hookKey
)

// endpoint is a receiver of webhooks. It checks every signature by the words of Standard Webhooks, with nothing of ours.
type endpoint struct {
	t   *testing.T
	web *httptest.Server

	mu     sync.Mutex
	fail   func(n int) int // the answer to request number n, from 1; 0 = take it
	asked  int
	bodies []string
	ids    []string
	got    chan struct{}
}

func newEndpoint(t *testing.T, fail func(n int) int) *endpoint {
	e := &endpoint{t: t, fail: fail, got: make(chan struct{}, 1000)}
	e.web = httptest.NewServer(http.HandlerFunc(e.take))
	t.Cleanup(e.web.Close)
	return e
}

func (e *endpoint) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	key, _ := base64.StdEncoding.DecodeString(hookKey)
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
	if err != nil || r.Header.Get("webhook-signature") != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		e.t.Errorf("the signature of %s is wrong", r.Header.Get("webhook-id"))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked++
	if status := e.fail(e.asked); status != 0 {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		return
	}
	e.bodies, e.ids = append(e.bodies, string(body)), append(e.ids, r.Header.Get("webhook-id"))
	e.got <- struct{}{}
}

// await waits until n messages were taken, and returns the types or numbers of their events.
func (e *endpoint) await(n int) (seqs []string) {
	e.t.Helper()
	limit := time.After(2 * time.Minute)
	for range n {
		select {
		case <-e.got:
		case <-limit:
			require.FailNow(e.t, "the messages have not come")
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, body := range e.bodies {
		var m struct {
			Type      string
			Timestamp time.Time
			Data      struct{ Seq int64 }
		}
		require.NoError(e.t, json.Unmarshal([]byte(body), &m))
		require.NotZero(e.t, m.Timestamp)
		seqs = append(seqs, fmt.Sprintf("%s %d", m.Type, m.Data.Seq))
	}
	return seqs
}

func takes(int) int { return 0 }

// sendWebhooks runs a dispatcher, as an orchestrator does, until stop is called.
func sendWebhooks(t *testing.T, s *store.Store, giveUp time.Duration) (logs *observer.ObservedLogs, stop func()) {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	hub := events.NewHub(events.Config{Source: s, Streams: webhook.Max})
	sender := webhook.NewSender(dial.Reach{Loopback: true})
	d := webhook.Dispatcher{Store: s, Hub: hub, Sender: sender, GiveUp: giveUp, Log: zap.New(core)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
		hub.Close()
		sender.Close()
	})
	t.Cleanup(stop)
	return logs, stop
}

func hook(t *testing.T, s *store.Store, name, url string, f events.Filter) {
	t.Helper()
	require.NoError(t, s.CreateWebhook(t.Context(), &webhook.Webhook{Name: name, URL: url, Filter: f, Enabled: true, CreatedBy: "bob"}, hookSecret))
}

func hookNow(t *testing.T, s *store.Store, name string) webhook.Webhook {
	t.Helper()
	w, secret, err := s.Webhook(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, hookSecret, secret)
	return *w
}

// An endpoint that fails and redirects gets every event in order as soon as it works. One that never answers well holds no
// other webhook up.
func TestAWebhookGetsEveryEventInOrder(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	raw(t, url, `INSERT INTO events (type) VALUES ('before')`)
	flaky := newEndpoint(t, func(n int) int { return map[int]int{1: 503, 3: 302}[n] })
	dead := newEndpoint(t, func(int) int { return 500 })
	some := newEndpoint(t, takes)
	hook(t, s, "dead", dead.web.URL, events.Filter{})
	hook(t, s, "flaky", flaky.web.URL, events.Filter{})
	hook(t, s, "some", some.web.URL, events.Filter{Kinds: []string{"deploy"}})
	logs, stop := sendWebhooks(t, s, time.Hour)
	raw(t, url, `INSERT INTO events (type, kind) SELECT 'x', CASE n WHEN 2 THEN 'deploy' ELSE '' END FROM generate_series(1, 3) n`)
	require.Equal(t, []string{"x 3"}, some.await(1))
	require.Equal(t, []string{"x 2", "x 3", "x 4"}, flaky.await(3))
	raw(t, url, `INSERT INTO events (type) VALUES ('y')`)
	require.Equal(t, []string{"x 2", "x 3", "x 4", "y 5"}, flaky.await(1))
	require.Equal(t, []string{"event_2", "event_3", "event_4", "event_5"}, flaky.ids)
	stop()
	w := hookNow(t, s, "flaky")
	require.EqualValues(t, 2, w.Failures)
	require.Positive(t, hookNow(t, s, "dead").Attempts)
	require.Equal(t, "the endpoint answered 500", hookNow(t, s, "dead").LastError)
	require.NotNil(t, hookNow(t, s, "dead").FailingSince)
	for _, line := range logs.All() {
		require.NotContains(t, fmt.Sprint(line), hookKey)
	}
}

// What a process that died had not recorded is sent by another one when the lease has ended. The dead one can record nothing any more.
func TestAWebhookIsTakenOverFromAProcessThatDied(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	e := newEndpoint(t, takes)
	hook(t, s, "h", e.web.URL, events.Filter{})
	dead, err := s.LeaseWebhooks(t.Context(), "dead", 100*time.Millisecond)
	require.NoError(t, err)
	require.Len(t, dead, 1)
	again, err := s.LeaseWebhooks(t.Context(), "dead", 100*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, dead[0].Lease, again[0].Lease, "a lease that is renewed is the same")
	raw(t, url, `INSERT INTO events (type) VALUES ('a'), ('b')`)
	require.NoError(t, s.WebhookDelivered(t.Context(), dead[0].Lease, 1, 1))
	sendWebhooks(t, connect(t, store.Config{URL: url, Keyset: keyset}), time.Hour)
	require.Equal(t, []string{"b 2"}, e.await(1))
	kind(t, fault.Lost, s.WebhookDelivered(t.Context(), dead[0].Lease, 1, 1))
	kind(t, fault.Lost, s.GiveUpEvent(t.Context(), dead[0].Lease, webhook.DeadLetter{Seq: 2}))
	others, err := s.LeaseWebhooks(t.Context(), "dead", time.Minute)
	require.NoError(t, err)
	require.Empty(t, others, "one process sends for a webhook")
}

// A request that was under way when a process stopped is sent again, so an event may come twice. None is left out, and none comes
// before an older one.
func TestAProcessThatStopsGivesItsWebhooksBackAndNothingIsLost(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	e := newEndpoint(t, takes)
	hook(t, s, "h", e.web.URL, events.Filter{})
	var want []string
	for round := range 3 {
		_, stop := sendWebhooks(t, s, time.Hour)
		raw(t, url, `INSERT INTO events (type) VALUES ('a'), ('b')`)
		want = append(want, fmt.Sprintf("a %d", 2*round+1), fmt.Sprintf("b %d", 2*round+2))
		var once []string
		for len(once) < len(want) {
			once = nil
			for _, seq := range e.await(1) {
				if !slices.Contains(once, seq) {
					once = append(once, seq)
				}
			}
		}
		require.Equal(t, want, once)
		stop()
		others, err := s.LeaseWebhooks(t.Context(), "other", time.Minute)
		require.NoError(t, err)
		require.Len(t, others, 1, "it has no lease any more")
		require.NoError(t, s.ReleaseWebhooks(t.Context(), "other"))
	}
}

func TestAnEventThatNobodyTookInTimeIsADeadLetter(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	var mu sync.Mutex
	works := false
	e := newEndpoint(t, func(int) int {
		mu.Lock()
		defer mu.Unlock()
		if works {
			return 0
		}
		return 500
	})
	hook(t, s, "h", e.web.URL, events.Filter{})
	sendWebhooks(t, s, time.Nanosecond)
	raw(t, url, `INSERT INTO events (type, data) VALUES ('a', '{"url": "http://me:hunter2@images/x"}'), ('b', '{}')`)
	require.Eventually(t, func() bool { return hookNow(t, s, "h").DeadLetters == 2 }, time.Minute, 50*time.Millisecond)
	letters, err := s.DeadLetters(t.Context(), "h", 0, 10)
	require.NoError(t, err)
	require.Equal(t, "the endpoint answered 500", letters[0].Error)
	require.Equal(t, "event_1", letters[0].MessageID)
	require.NotContains(t, letters[0].Body, "hunter2")
	require.EqualValues(t, 2, hookNow(t, s, "h").DeliveredThrough)

	n, err := s.RedeliverEvents(t.Context(), "h", 2)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Eventually(t, func() bool {
		letters, err := s.DeadLetters(t.Context(), "h", 1, 10)
		return err == nil && !letters[0].Redeliver
	}, time.Minute, 50*time.Millisecond, "it was tried, and is still there")
	mu.Lock()
	works = true
	mu.Unlock()
	n, err = s.RedeliverEvents(t.Context(), "h", 0)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []string{"a 1", "b 2"}, e.await(2))
	require.Equal(t, letters[0].Body, e.bodies[0])
	require.Eventually(t, func() bool { return hookNow(t, s, "h").DeadLetters == 0 }, time.Minute, 50*time.Millisecond)
	_, err = s.RedeliverEvents(t.Context(), "h", 2)
	kind(t, fault.NotFound, err)
	_, err = s.RedeliverEvents(t.Context(), "nosuch", 0)
	kind(t, fault.NotFound, err)
}

// Who was away for longer than events are kept is told so.
func TestAWebhookIsToldThatEventsWereMissed(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	e := newEndpoint(t, takes)
	hook(t, s, "h", e.web.URL, events.Filter{})
	raw(t, url, `INSERT INTO events (type) SELECT 'old' FROM generate_series(1, 10)`)
	_, err := s.ForgetEvents(t.Context(), time.Hour, 2)
	require.NoError(t, err)
	sendWebhooks(t, s, time.Hour)
	require.Equal(t, []string{"reset 10"}, e.await(1))
	raw(t, url, `INSERT INTO events (type) VALUES ('new')`)
	require.Equal(t, []string{"reset 10", "new 11"}, e.await(1))
}

func TestADisabledWebhookGetsNothingAndGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	e := newEndpoint(t, takes)
	hook(t, s, "h", e.web.URL, events.Filter{})
	mine, err := s.LeaseWebhooks(t.Context(), "me", time.Minute)
	require.NoError(t, err)
	require.NoError(t, enable(t, s, "h", false))
	kind(t, fault.Lost, s.WebhookDelivered(t.Context(), mine[0].Lease, 1, 1))
	none, err := s.LeaseWebhooks(t.Context(), "me", time.Minute)
	require.NoError(t, err)
	require.Empty(t, none)
	raw(t, url, `INSERT INTO events (type) VALUES ('meanwhile')`)
	require.NoError(t, enable(t, s, "h", true))
	kind(t, fault.Lost, s.WebhookDelivered(t.Context(), mine[0].Lease, 1, 1))
	sendWebhooks(t, s, time.Hour)
	require.Equal(t, []string{"meanwhile 1"}, e.await(1))
	kind(t, fault.NotFound, enable(t, s, "nosuch", true))
}

func TestWebhooksAndTheirDeadLettersAreBounded(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	for n := range webhook.Max {
		hook(t, s, fmt.Sprintf("h%d", n), "https://example.org", events.Filter{})
	}
	err := s.CreateWebhook(t.Context(), &webhook.Webhook{Name: "more", URL: "https://example.org"}, hookSecret)
	kind(t, fault.Conflict, err)
	require.NoError(t, s.DeleteWebhook(t.Context(), "h0"))
	err = s.CreateWebhook(t.Context(), &webhook.Webhook{Name: "h1", URL: "https://example.org"}, hookSecret)
	require.Equal(t, fault.AlreadyExists, fault.CodeOf(err), err)

	mine, err := s.LeaseWebhooks(t.Context(), "me", time.Minute)
	require.NoError(t, err)
	raw(t, url, `INSERT INTO webhook_dead_letters (webhook_id, seq, message_id, type, body, at, error) SELECT $1, n, 'm', 't', '{}', now(), 'e' FROM generate_series(1, $2::int) n`,
		mine[0].ID, webhook.MaxDeadLetters)
	require.NoError(t, s.GiveUpEvent(t.Context(), mine[0].Lease, webhook.DeadLetter{Seq: webhook.MaxDeadLetters + 1, At: time.Now()}))
	letters, err := s.DeadLetters(t.Context(), mine[0].Name, 0, 2*webhook.MaxDeadLetters)
	require.NoError(t, err)
	require.Len(t, letters, webhook.MaxDeadLetters)
	require.EqualValues(t, 2, letters[0].Seq)
}

func TestTheSecretOfAWebhookIsSealed(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	hook(t, s, "h", "https://example.org", events.Filter{})
	require.NotContains(t, ask[string](t, url, `SELECT w::text || encode(w.ciphertext, 'escape') FROM webhooks w`), hookKey)
	newer, err := store.AddKey(keyset)
	require.NoError(t, err)
	both := connect(t, store.Config{URL: url, Keyset: newer})
	count, err := both.Rotate(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, count)
	count, err = both.Rotate(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, count)
	hookNow(t, both, "h")
	raw(t, url, `UPDATE webhooks SET url = 'https://elsewhere.org'`)
	_, _, err = both.Webhook(t.Context(), "h")
	require.Equal(t, fault.SecretUnreadable, fault.CodeOf(err), "it opens for no other endpoint")
	none, err := both.LeaseWebhooks(t.Context(), "me", time.Minute)
	require.NoError(t, err)
	require.Empty(t, none)
	all, err := both.Webhooks(t.Context())
	require.NoError(t, err)
	require.Contains(t, all[0].LastError, "does not open")
}

func enable(t *testing.T, s *store.Store, name string, enabled bool) error {
	return s.ChangeWebhook(t.Context(), name, func(w *webhook.Webhook) (string, error) {
		w.Enabled = enabled
		return "", nil
	})
}

// The secret is sealed for the address: it stays readable at a new one, and a new secret replaces it.
func TestAWebhookIsChanged(t *testing.T) {
	t.Parallel()
	s, _ := openURL(t)
	hook(t, s, "h", "https://old.example.org/x", events.Filter{Kinds: []string{"deploy"}})
	_, first, err := s.Webhook(t.Context(), "h")
	require.NoError(t, err)
	change := func(secret string, edit func(*webhook.Webhook)) (*webhook.Webhook, string) {
		require.NoError(t, s.ChangeWebhook(t.Context(), "h", func(w *webhook.Webhook) (string, error) {
			edit(w)
			return secret, nil
		}))
		w, now, err := s.Webhook(t.Context(), "h")
		require.NoError(t, err)
		return w, now
	}
	w, secret := change("", func(w *webhook.Webhook) { w.URL, w.Filter.Kinds = "https://new.example.org/x", nil })
	require.Equal(t, "https://new.example.org/x", w.URL)
	require.Empty(t, w.Filter.Kinds)
	require.Equal(t, first, secret)
	_, secret = change("whsec_new", func(*webhook.Webhook) {})
	require.Equal(t, "whsec_new", secret)
}
