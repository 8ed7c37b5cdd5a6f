package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// browse sends what a browser may send for a page without asking first: no
// header but those that are given, and a body that claims to be text.
func (b *bench) browse(method, host, path, body string, header ...string) *answer {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	r.Host = host
	r.Header.Set("Content-Type", "text/plain")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return &answer{t: b.t, what: method + " " + path, status: w.Code, header: w.Header(), raw: w.Body.Bytes()}
}

// A page in a browser of the operator's machine can reach an API on loopback,
// which asks nobody who they are.
func TestAWebPageCanNotUseTheAPI(t *testing.T) {
	b := newBench(t, func(c *config) { c.Listen, c.AllowedHosts = "127.0.0.1:6385", []string{"temper.example"} }).withConductors()
	const here, made = "127.0.0.1:6385", `{"driver":"fake-hardware"}`
	page := []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}
	for path, body := range map[string]string{"/v1/nodes": made, "/temper/v1/conductors/c1/drain": "", "/nodes/": made} {
		require.Contains(t, b.browse("POST", here, path, body, page...).fails(403), "another origin", path)
		require.Contains(t, b.browse("POST", here, path, body, "Origin", "https://evil.example").fails(403), "another origin", path)
		// The page's own name points here now.
		require.Contains(t, b.browse("POST", "evil.example:6385", path, body, "Origin", "http://evil.example:6385", "Sec-Fetch-Site", "same-origin").fails(421), "allowed_hosts", path)
	}
	b.browse("GET", "evil.example:6385", "/v1/nodes", "").fails(421)
	require.Empty(t, b.browse("GET", here, "/v1/nodes", "").is(200)["nodes"])
	_, fleet := b.browse("GET", here, "/temper/v1/conductors", "").is(200), string(b.get("/temper/v1/conductors").raw)
	require.NotContains(t, fleet, `"draining":true`)

	for _, host := range []string{here, "localhost:1", "[::1]:6385", "temper.example", "temper.test:6385"} {
		b.browse("GET", host, "/v1/nodes", "").is(200)
	}
	form := b.browse("POST", "localhost:6385", "/v1/nodes", `{"driver":"fake-hardware"}`, "Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, http.StatusCreated, form.status, "curl -d: %s", form.raw)
}

// A lookup is a GET, and gives the token of the agent to whoever asks first.
func TestAWebPageCanNotLookUpAnAgent(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.waitingWithPort("n1")
	path := "/v1/lookup?addresses=" + mac
	ask := []string{"X-OpenStack-Ironic-API-Version", "1.90", "Sec-Fetch-Site", "cross-site"}
	b.browse("GET", "api.example", path, "", ask...).fails(403)
	b.browse("GET", "api.example", "/v1/nodes/"+uuid, "", ask...).is(200)
	token, found := lookup(b.browse("GET", "api.example", path, "", ask[:2]...))
	require.Equal(t, uuid, found)
	require.Len(t, token, 43, "nobody has had it yet")
}
