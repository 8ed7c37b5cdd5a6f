package origin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/origin"
)

func request(method, host string, header ...string) *http.Request {
	r := httptest.NewRequest(method, "/x", nil)
	r.Host = host
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func statusOf(r *origin.Refusal) int {
	if r == nil {
		return 0
	}
	return r.Status
}

// A page of the attacker, whose name points to loopback, has the same origin for its browser.
func TestOnLoopbackOnlyKnownHostsAreAnswered(t *testing.T) {
	for host, want := range map[string]int{
		"localhost": 0, "localhost:6385": 0, "LOCALHOST:1": 0, "temper.localhost:80": 0, "127.0.0.1:6385": 0, "127.0.0.2": 0,
		"[::1]:6385": 0, "[::1]": 0, "localhost.:80": 0, "": 0, // HTTP/1.0, which no browser speaks
		"api.example:443": 0, "API.example.": 0,
		"evil.example": 421, "evil.example:6385": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example:6385": 421,
		"10.0.0.1:6385": 421, "[2001:db8::1]:6385": 421, "0.0.0.0:6385": 421, "evillocalhost": 421, "2130706433": 421,
	} {
		for _, listen := range []string{"127.0.0.1:6385", "[::1]:6385", "localhost:6385"} {
			refusal := origin.NewGuard(listen, []string{"api.example"}).Check(request("GET", host))
			require.Equal(t, want, statusOf(refusal), "%s on %s", host, listen)
			if refusal != nil {
				require.ErrorContains(t, refusal, "allowed_hosts")
			}
		}
		for _, listen := range []string{"0.0.0.0:6385", ":6385", "10.0.0.1:6385"} {
			require.Nil(t, origin.NewGuard(listen, nil).Check(request("GET", host)), "%s on %s", host, listen)
		}
		require.Nil(t, origin.NewGuard("127.0.0.1:6385", []string{"*"}).Check(request("GET", host)), host)
	}
	require.Less(t, len(origin.NewGuard("127.0.0.1:1", nil).Check(request("GET", strings.Repeat("a", 5000))).Message), 400)
}

func TestPagesOfOtherOriginsChangeNothing(t *testing.T) {
	g := origin.NewGuard("127.0.0.1:6385", nil)
	for name, c := range map[string]struct {
		method string
		header []string
		want   int
	}{
		"curl, which says nothing":               {"POST", nil, 0},
		"a page of another site":                 {"POST", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		"a page of another port of this machine": {"POST", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:8080"}, 403},
		"its own page":                           {"POST", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:6385"}, 0},
		"its own page in an old browser":         {"POST", []string{"Origin", "http://127.0.0.1:6385"}, 0},
		"another page in an old browser":         {"POST", []string{"Origin", "https://evil.example"}, 403},
		"a page in a sandbox":                    {"POST", []string{"Origin", "null"}, 403},
		"another page that only reads":           {"GET", []string{"Sec-Fetch-Site", "cross-site"}, 0},
		"another page that deletes":              {"DELETE", []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(c.method, "127.0.0.1:6385", append([]string{"Content-Type", "text/plain"}, c.header...)...)
			require.Equal(t, c.want, statusOf(g.Check(r)))
		})
	}
	r := request("GET", "127.0.0.1:6385", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, 403, statusOf(g.CheckAll(r)))
	require.Equal(t, "GET", r.Method)
}

func TestARefusalIsJSON(t *testing.T) {
	h := origin.NewGuard("127.0.0.1:1", nil).Handler(http.NotFoundHandler())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request("GET", "evil\"<script>.example"))
	require.Equal(t, 421, w.Code)
	var body struct{ Error string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body), w.Body.String())
	require.Contains(t, body.Error, "allowed_hosts")
	w = httptest.NewRecorder()
	h.ServeHTTP(w, request("GET", "localhost"))
	require.Equal(t, 404, w.Code)
}
