package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
)

// browse sends a request that a browser sends for a page without a CORS preflight: only
// the given headers, and a body of type text.
func browse(b *apitest.Bench, method, host, path, body string, header ...string) *apitest.Answer {
	b.T.Helper()
	r := httptest.NewRequestWithContext(b.T.Context(), method, path, strings.NewReader(body))
	r.Host = host
	r.Header.Set("Content-Type", "text/plain")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return b.Serve(r)
}

// A web page in a browser on the operator's machine can reach an API on loopback that has
// no login.
func TestAWebPageCanNotUseTheAPI(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.Listen, c.AllowedHosts = "127.0.0.1:6385", []string{"temper.example"} }).WithConductors()
	const here, made = "127.0.0.1:6385", `{"driver":"fake-hardware"}`
	page := []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}
	for path, body := range map[string]string{"/v1/nodes": made, "/temper/v1/conductors/c1/drain": "", "/nodes/": made} {
		require.Contains(t, browse(b, "POST", here, path, body, page...).Fails(403), "another origin", path)
		require.Contains(t, browse(b, "POST", here, path, body, "Origin", "https://evil.example").Fails(403), "another origin", path)
		// DNS rebinding: the host name of the page now resolves to the API's address.
		require.Contains(t, browse(b, "POST", "evil.example:6385", path, body, "Origin", "http://evil.example:6385", "Sec-Fetch-Site", "same-origin").Fails(421), "allowed_hosts", path)
	}
	browse(b, "GET", "evil.example:6385", "/v1/nodes", "").Fails(421)
	require.Empty(t, browse(b, "GET", here, "/v1/nodes", "").Is(200)["nodes"])
	_, fleet := browse(b, "GET", here, "/temper/v1/conductors", "").Is(200), string(b.Get("/temper/v1/conductors").Body)
	require.NotContains(t, fleet, `"draining":true`)

	for _, host := range []string{here, "localhost:1", "[::1]:6385", "temper.example", "temper.test:6385"} {
		browse(b, "GET", host, "/v1/nodes", "").Is(200)
	}
	form := browse(b, "POST", "localhost:6385", "/v1/nodes", `{"driver":"fake-hardware"}`, "Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, http.StatusCreated, form.Status, "curl -d: %s", form.Body)
}

// A lookup is a GET, and the first client gets the token of the agent.
func TestAWebPageCanNotLookUpAnAgent(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.WaitingWithPort("n1")
	path := "/v1/lookup?addresses=" + apitest.MAC
	ask := []string{"X-OpenStack-Ironic-API-Version", "1.90", "Sec-Fetch-Site", "cross-site"}
	browse(b, "GET", "api.example", path, "", ask...).Fails(403)
	browse(b, "GET", "api.example", "/v1/nodes/"+uuid, "", ask...).Is(200)
	token, found := browse(b, "GET", "api.example", path, "", ask[:2]...).Lookup()
	require.Equal(t, uuid, found)
	require.Len(t, token, 43, "nobody has had it yet")
}
