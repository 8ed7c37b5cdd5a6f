package temper_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/webhook"
)

const hookKey = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func wanted(more map[string]any) map[string]any {
	out := map[string]any{"name": "chat", "url": "https://example.org/hook", "secret": "whsec_" + hookKey}
	for k, v := range more {
		out[k] = v
	}
	return out
}

func TestWebhooksAreKeptWithoutShowingTheirSecret(t *testing.T) {
	t.Parallel()
	metrics := prometheus.NewRegistry()
	b := apitest.New(t, func(c *api.Config) { c.Metrics = metrics }).WithConductors()
	var seen strings.Builder
	see := func(a *apitest.Answer) *apitest.Answer { seen.Write(a.Body); return a }
	n1 := b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n1"}).Is(201)["uuid"].(string)
	made := see(b.Post("/temper/v1/webhooks", wanted(map[string]any{"node": "n1", "kinds": []string{"deploy", "deploy"}, "causes": []string{"bmc_silent"}, "types": []string{"operation"}}))).Is(201)
	require.Equal(t, n1, made["node_uuid"])
	require.Equal(t, []any{"deploy"}, made["kinds"])
	require.Equal(t, "ok", made["state"])
	require.Equal(t, node.Anonymous, made["created_by"])
	require.Equal(t, made, see(b.Get("/temper/v1/webhooks/chat")).Is(200))
	require.Equal(t, []any{made}, see(b.Get("/temper/v1/webhooks")).Is(200)["webhooks"])
	see(b.Post("/temper/v1/webhooks", wanted(nil))).Fails(409)
	require.Equal(t, "disabled", see(b.At(apitest.Newest, "PATCH", "/temper/v1/webhooks/chat", map[string]any{"enabled": false})).Is(200)["state"])
	patch := func(fields map[string]any) *apitest.Answer {
		return see(b.At(apitest.Newest, "PATCH", "/temper/v1/webhooks/chat", fields))
	}
	changed := patch(map[string]any{"kinds": []string{"clean"}, "url": "https://example.org/other", "secret": "whsec_" + strings.Repeat("b", 32)}).Is(200)
	require.Equal(t, []any{[]any{"clean"}, "https://example.org/other", n1}, []any{changed["kinds"], changed["url"], changed["node_uuid"]})
	require.Nil(t, patch(map[string]any{"node": ""}).Is(200)["node_uuid"])
	require.Empty(t, patch(map[string]any{"kinds": []string{}}).Is(200)["kinds"])
	for _, wrong := range []map[string]any{{}, {"secret": "short"}, {"url": "ftp://example.org/x"}, {"kinds": []string{"nosuch"}}, {"name": "other"}} {
		patch(wrong).Fails(400)
	}
	b.SQL(`UPDATE webhooks SET failing_since = now(), attempts = 3, failures = 3, last_error = 'no', enabled = true`)
	require.Equal(t, "failing", see(b.Get("/temper/v1/webhooks/chat")).Is(200)["state"])
	families, err := metrics.Gather()
	require.NoError(t, err)
	told := fmt.Sprint(families)
	for _, name := range []string{"temper_webhook_deliveries_total", "temper_webhook_failures_total", "temper_webhook_dead_letters", "temper_webhook_behind_seconds"} {
		require.Contains(t, told, name)
	}
	see(b.Delete("/temper/v1/webhooks/chat")).Is(204)
	see(b.Get("/temper/v1/webhooks/chat")).Fails(404)
	require.NotContains(t, seen.String(), hookKey)
}

func TestWrongWebhooksAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	for _, c := range []struct {
		body   map[string]any
		status int
	}{
		{map[string]any{"name": "a/b"}, 400},
		{map[string]any{"url": "https://me:hunter2@example.org"}, 400},
		{map[string]any{"url": "http://169.254.169.254/"}, 400},
		{map[string]any{"secret": "hunter2"}, 400},
		{map[string]any{"kinds": []string{"dance"}}, 400},
		{map[string]any{"causes": []string{"bad_luck"}}, 400},
		{map[string]any{"types": []any{""}}, 400},
		{map[string]any{"node": "nobody"}, 404},
	} {
		require.NotContains(t, b.Post("/temper/v1/webhooks", wanted(c.body)).Fails(c.status), "hunter2", c.body)
	}
	for _, path := range []string{"/test", "/redeliver"} {
		b.Post("/temper/v1/webhooks/nosuch"+path, map[string]any{}).Fails(404)
	}
	b.Get("/temper/v1/webhooks/nosuch/dead-letters").Fails(404)
	b.Delete("/temper/v1/webhooks/nosuch").Fails(404)
	b.At(apitest.Newest, "PATCH", "/temper/v1/webhooks/nosuch", map[string]any{"enabled": true}).Fails(404)
}

func TestAWebhookIsTested(t *testing.T) {
	t.Parallel()
	status, got := http.StatusNoContent, ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
		w.WriteHeader(status)
	}))
	t.Cleanup(web.Close)
	b := apitest.New(t)
	b.Post("/temper/v1/webhooks", wanted(map[string]any{"url": web.URL, "enabled": false})).Is(201)
	require.Equal(t, map[string]any{"delivered": true, "error": nil}, b.Post("/temper/v1/webhooks/chat/test", map[string]any{}).Is(200))
	require.Contains(t, got, `"type":"webhook.test"`)
	status = http.StatusTeapot
	require.Equal(t, map[string]any{"delivered": false, "error": "the endpoint answered 418"}, b.Post("/temper/v1/webhooks/chat/test", map[string]any{}).Is(200))
}

func TestDeadLettersAreShownAndRedelivered(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	b.Post("/temper/v1/webhooks", wanted(nil)).Is(201)
	mine, err := b.Store.LeaseWebhooks(t.Context(), "me", time.Minute)
	require.NoError(t, err)
	for seq := range int64(3) {
		require.NoError(t, b.Store.GiveUpEvent(t.Context(), mine[0].Lease, webhook.DeadLetter{Seq: seq + 1, MessageID: "event", Type: "t", Body: "{}", At: time.Now(), Error: "no"}))
	}
	page := b.Get("/temper/v1/webhooks/chat/dead-letters?limit=2").Is(200)
	require.Len(t, page["dead_letters"], 2)
	require.NotNil(t, page["next"])
	rest := b.Get("/temper/v1/webhooks/chat/dead-letters?limit=2&marker=2").Is(200)["dead_letters"].([]any)
	require.Len(t, rest, 1)
	require.Equal(t, map[string]any{"redelivering": 1.0}, b.Post("/temper/v1/webhooks/chat/redeliver", map[string]any{"event": 3}).Is(202))
	require.Equal(t, map[string]any{"redelivering": 3.0}, b.Post("/temper/v1/webhooks/chat/redeliver", map[string]any{}).Is(202))
	b.Post("/temper/v1/webhooks/chat/redeliver", map[string]any{"event": 9}).Fails(404)
}
