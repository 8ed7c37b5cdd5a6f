package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/webhook"
)

// hooked runs a command against an API that answers every request with answer.
func hooked(t *testing.T, answer string, args ...string) (out, said string, asked []string, err error) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body))
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(web.Close)
	var o, e strings.Builder
	err = execute(t.Context(), append(args, "--api", web.URL), strings.NewReader(""), &o, &e)
	return o.String(), e.String(), asked, err
}

const aWebhook = `{"name": "chat", "url": "https://example.org", "state": "ok", "dead_letters": 0}`

func TestTheSecretOfANewWebhookIsShownOnce(t *testing.T) {
	out, said, asked, err := hooked(t, aWebhook, "webhook", "create", "chat", "--url", "https://example.org", "--type", "operation.ended,step", "--node", "n1")
	require.NoError(t, err)
	method, body, _ := strings.Cut(asked[0], "/temper/v1/webhooks ")
	require.Equal(t, "POST ", method)
	var sent map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &sent))
	require.Equal(t, []any{"operation.ended", "step"}, sent["types"])
	require.Equal(t, "n1", sent["node"])
	require.NoError(t, webhook.CheckSecret(sent["secret"].(string)))
	require.Contains(t, said, sent["secret"])
	require.NotContains(t, out, sent["secret"])

	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("whsec_mine\n"), 0o600))
	out, said, asked, err = hooked(t, aWebhook, "webhook", "create", "chat", "--url", "https://example.org", "--secret-file", file)
	require.NoError(t, err)
	require.Contains(t, asked[0], `"whsec_mine"`)
	require.NotContains(t, out+said, "whsec_mine")
}

func TestWebhookCommandsAskTheAPI(t *testing.T) {
	for _, c := range []struct{ args, answer, want, out string }{
		{"list", `{"webhooks": [` + aWebhook + `]}`, "GET /temper/v1/webhooks ", "chat"},
		{"show chat", aWebhook, "GET /temper/v1/webhooks/chat ", "chat"},
		{"enable chat", aWebhook, `PATCH /temper/v1/webhooks/chat {"enabled":true}`, "chat"},
		{"disable chat", aWebhook, `PATCH /temper/v1/webhooks/chat {"enabled":false}`, "chat"},
		{"delete chat", "", "DELETE /temper/v1/webhooks/chat ", ""},
		{"test chat", `{"delivered": true, "error": null}`, "POST /temper/v1/webhooks/chat/test {}", "has taken the message"},
		{"dead-letters chat", `{"dead_letters": [{"event": 7, "type": "operation.ended", "error": "the endpoint answered 500"}], "next": null}`, "GET /temper/v1/webhooks/chat/dead-letters ", "answered 500"},
		{"redeliver chat 7", `{"redelivering": 1}`, `POST /temper/v1/webhooks/chat/redeliver {"event":7}`, "within seconds: 1;"},
		{"redeliver chat --all", `{"redelivering": 3}`, `POST /temper/v1/webhooks/chat/redeliver {}`, "within seconds: 3;"},
	} {
		out, _, asked, err := hooked(t, c.answer, append([]string{"webhook"}, strings.Fields(c.args)...)...)
		require.NoError(t, err, c.args)
		require.Equal(t, []string{c.want}, asked, c.args)
		require.Contains(t, out, c.out, c.args)
	}
	_, _, _, err := hooked(t, `{"delivered": false, "error": "the endpoint answered 500"}`, "webhook", "test", "chat")
	require.ErrorContains(t, err, "the endpoint answered 500")
	for _, args := range []string{"create chat", "redeliver chat", "redeliver chat x", "redeliver chat 7 --all"} {
		_, _, asked, err := hooked(t, "", append([]string{"webhook"}, strings.Fields(args)...)...)
		require.Equal(t, exit.CodeUsage, exit.Code(err), args)
		require.Empty(t, asked)
	}
}

// A webhook whose deliveries fail is named by the commands that say what is wrong, and the exit code stays 0.
func TestStatusAndWhyNameWebhooksThatFail(t *testing.T) {
	url := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/temper/v1/why" {
			_, _ = io.WriteString(w, `{"groups":[],"next":null}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"broken":[],"parts":[],"processes":[],"webhooks":[{"name":"chat","since":"2026-01-02T03:04:05+00:00",`+
			`"sentence":"webhook chat: 2 events were given up","help":[{"command":"temper webhook dead-letters chat","effect":"shows them"}]}]}`)
	})
	for _, command := range []string{"status", "why"} {
		got := ask(t, url, "", command)
		require.NoError(t, got.failed)
		require.Regexp(t, `(?m)^webhook chat: 2 events were given up, since .*
  you can: temper webhook dead-letters chat  # shows them$`, got.out)
	}
}
