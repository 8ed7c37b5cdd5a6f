package httpd

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyTrustedProxiesSayWhoAsks(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::/64")}
	for name, c := range map[string]struct {
		from string
		said []string
		want string
	}{
		"a client by itself":                 {"192.0.2.7:1234", []string{"198.51.100.1"}, "192.0.2.7:1234"},
		"through a proxy":                    {"10.0.0.1:1234", []string{"192.0.2.7"}, "192.0.2.7:0"},
		"through two proxies":                {"10.0.0.1:1234", []string{"192.0.2.7, 10.0.0.2"}, "192.0.2.7:0"},
		"a client that makes up a header":    {"10.0.0.1:1234", []string{"127.0.0.1, 192.0.2.7"}, "192.0.2.7:0"},
		"in several headers":                 {"10.0.0.1:1234", []string{"127.0.0.1", "192.0.2.7", "10.0.0.2"}, "192.0.2.7:0"},
		"IPv6":                               {"[fd00::1]:1234", []string{"2001:db8::7"}, "[2001:db8::7]:0"},
		"a proxy that says nothing":          {"10.0.0.1:1234", nil, "10.0.0.1:1234"},
		"a proxy that says nonsense":         {"10.0.0.1:1234", []string{"somebody"}, "10.0.0.1:1234"},
		"nonsense before a trusted proxy":    {"10.0.0.1:1234", []string{"somebody, 10.0.0.2"}, "10.0.0.2:0"},
		"an IPv4 address in the form of one": {"10.0.0.1:1234", []string{"::ffff:192.0.2.7"}, "192.0.2.7:0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = c.from
			r.Header["X-Forwarded-For"] = c.said
			var got string
			forwarded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }), trusted).ServeHTTP(httptest.NewRecorder(), r)
			require.Equal(t, c.want, got)
			require.Equal(t, c.from, r.RemoteAddr, "the server's own request stays")
		})
	}
}
