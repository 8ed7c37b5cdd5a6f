package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const anEntry = `{"id": "7", "at": "2026-01-02T15:04:05+00:00", "user": "ann", "method": "http_basic", "from": "192.0.2.1", "request_id": "req-1",
	"rule": "baremetal:node:update", "route": "PATCH /v1/nodes/:node", "node_uuid": "u", "node_name": "n1", "kind": null, "target": null, "operation": null,
	"what": ["extra", "name"], "reason": null, "outcome": "refused", "status": 409, "count": 1}`

func TestTheAuditIsListed(t *testing.T) {
	out, _, asked, err := hooked(t, `{"audit": [`+anEntry+`], "next": null}`, "audit", "--node", "n1", "--actor", "ann", "--outcome", "refused", "--rule", "r", "--since", "2026-01-02", "--until", "2026-01-03")
	require.NoError(t, err)
	require.Equal(t, []string{"GET /temper/v1/audit "}, asked)
	require.Contains(t, out, "ann")
	require.Contains(t, out, "extra,name")
	require.Contains(t, out, "refused 409")
	out, _, _, err = hooked(t, `{"audit": [`+anEntry+`], "next": null}`, "audit", "-o", "json")
	require.NoError(t, err)
	require.Contains(t, out, `"request_id": "req-1"`)
}

func TestTheAuditIsFollowed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	looks := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		looks++
		first, second := anEntry, strings.Replace(anEntry, `"id": "7"`, `"id": "8"`, 1)
		switch looks {
		case 1:
			_, _ = io.WriteString(w, `{"audit": [`+first+`], "next": null}`)
		default:
			at, err := time.Parse(time.RFC3339, r.URL.Query().Get("since"))
			if err != nil || !at.Equal(time.Date(2026, 1, 2, 15, 3, 5, 0, time.UTC)) {
				w.WriteHeader(http.StatusBadRequest)
			}
			_, _ = io.WriteString(w, `{"audit": [`+second+`,`+first+`], "next": null}`)
			if looks > 2 {
				stop()
			}
		}
	}))
	t.Cleanup(web.Close)
	var out strings.Builder
	err := execute(ctx, []string{"audit", "--follow", "-o", "json", "--api", web.URL}, strings.NewReader(""), &out, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2, "each once")
	for i, id := range []string{"7", "8"} {
		var e map[string]any
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &e))
		require.Equal(t, id, e["id"])
	}
}

const aToken = `{"id": "0123456789", "name": "ci", "role": "member", "project": "p1", "created_at": "2026-01-02T15:04:05+00:00", "created_by": "ann", "expires_at": "2026-02-02T15:04:05+00:00",
	"used_at": null, "revoked_at": null, "revoked_by": null`

func TestTokensByTheCommandLine(t *testing.T) {
	out, said, asked, err := hooked(t, aToken+`, "token": "temper_0123456789_x"}`, "token", "create", "ci", "--role", "member", "--project", "p1", "--expires", "1h")
	require.NoError(t, err)
	require.Equal(t, []string{`POST /temper/v1/tokens {"expires_in":3600,"name":"ci","project":"p1","role":"member"}`}, asked)
	require.Equal(t, "temper_0123456789_x\n", out, "so that a script can take it")
	require.Contains(t, said, "not shown again")
	_, _, _, err = hooked(t, "", "token", "create", "ci")
	require.ErrorContains(t, err, "--role")

	out, _, _, err = hooked(t, `{"tokens": [`+aToken+`}], "next": null}`, "token", "list")
	require.NoError(t, err)
	require.Contains(t, out, "0123456789")
	require.Contains(t, out, "never")
	_, _, asked, err = hooked(t, "", "token", "revoke", "0123456789")
	require.NoError(t, err)
	require.Equal(t, []string{"DELETE /temper/v1/tokens/0123456789 "}, asked)
}

func TestTheTokenOfTheEnvironmentIsSent(t *testing.T) {
	t.Setenv("TEMPER_TOKEN", "temper_0123456789_x")
	t.Setenv("TEMPER_API_USER", "")
	var sent []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"tokens": [], "next": null}`)
	}))
	t.Cleanup(web.Close)
	for _, args := range [][]string{{"token", "list"}, {"token", "list", "--user", "ann", "--password", "b"}} {
		require.NoError(t, execute(t.Context(), append(args, "--api", web.URL), strings.NewReader(""), io.Discard, io.Discard))
	}
	t.Setenv("TEMPER_API_USER", "ann")
	t.Setenv("TEMPER_API_PASSWORD", "b")
	require.NoError(t, execute(t.Context(), []string{"token", "list", "--api", web.URL}, strings.NewReader(""), io.Discard, io.Discard))
	require.Equal(t, []string{"Bearer temper_0123456789_x", "Basic YW5uOmI=", "Basic YW5uOmI="}, sent)
}
