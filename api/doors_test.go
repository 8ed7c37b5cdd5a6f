package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
)

// A listener serves what it is for, and asks for no password where it has nothing to show.
func TestAListenerServesItsAudienceOnly(t *testing.T) {
	t.Parallel()
	b, uuid, path := booting(t)
	ask := func(d api.Door, method, at, from string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, at, strings.NewReader("{}"))
		r.RemoteAddr = from + ":1234"
		r.Header.Set(apitest.VersionHeader, "1.62")
		w := httptest.NewRecorder()
		b.Server.Through(d).ServeHTTP(w, r)
		return w.Code
	}
	clients, agents, bmcs := api.Door{For: api.Clients}, api.Door{For: api.Agents | api.BMCs}, api.Door{For: api.BMCs}
	lookup := "/v1/lookup?addresses=" + apitest.MAC
	for what, c := range map[string]struct {
		method, path          string
		clients, agents, bmcs int
	}{
		"nodes":        {"GET", "/v1/nodes", 200, 404, 404},
		"no path":      {"GET", "/nothing", 404, 404, 404},
		"a BMC's CD":   {"GET", path, 404, 200, 200},
		"its size":     {"HEAD", path, 404, 200, 200},
		"a lookup":     {"GET", lookup, 404, 200, 404},
		"a heartbeat":  {"POST", "/v1/heartbeat/" + uuid, 404, 400, 404},
		"the versions": {"GET", "/", 200, 200, 404},
		"health":       {"GET", "/temper/v1/healthz", 200, 404, 404},
	} {
		got := []int{ask(clients, c.method, c.path, "192.0.2.1"), ask(agents, c.method, c.path, "192.0.2.1"), ask(bmcs, c.method, c.path, "192.0.2.1")}
		require.Equal(t, []int{c.clients, c.agents, c.bmcs}, got, what)
	}

	agents.Agents = []netip.Prefix{netip.MustParsePrefix("10.7.0.0/16"), netip.MustParsePrefix("fd00:7::/64")}
	for from, want := range map[string]int{"10.7.3.1": 200, "192.0.2.1": http.StatusForbidden, "[fd00:7::1]": 200, "[fd00:8::1]": http.StatusForbidden, "[::ffff:10.7.3.1]": 200} {
		require.Equal(t, want, ask(agents, "GET", lookup, from), from)
		require.Equal(t, 200, ask(agents, "GET", path, from), "the key lets a BMC in from anywhere")
	}
}
