package dial_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
)

func TestAddressesThatNobodyMayHaveUsConnectTo(t *testing.T) {
	for _, a := range []string{
		"127.0.0.1", "127.255.0.3", "::1", "::ffff:127.0.0.1", "0.0.0.0", "0.1.2.3", "::",
		"169.254.169.254", "169.254.0.1", "::ffff:169.254.169.254", "fe80::1", "fe80::1%eth0", "febf::1",
		"fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16",
		"224.0.0.1", "239.255.255.250", "ff02::1", "255.255.255.255", "240.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "64:ff9b:1:a9fe:a9:fe00::", "::ffff:0:a9fe:a9fe",
		"2002:7f00:1::", "2002:a9fe:a9fe::1", "::127.0.0.1", "::169.254.169.254",
	} {
		err := dial.Reach{Setting: "image_allow"}.Check(netip.MustParseAddr(a))
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%s: %v", a, err)
		require.ErrorContains(t, err, "image_allow", a)
	}
	for _, a := range []string{"10.0.0.1", "192.168.1.1", "8.8.8.8", "100.64.0.1", "2001:db8::1", "fd00::1", "64:ff9b::808:808", "64:ff9b:1::808:808", "64:ff9b:1:808:8:800::", "2002:808:808::1"} {
		require.NoError(t, dial.Reach{}.Check(netip.MustParseAddr(a)), a)
	}
}

func TestExceptions(t *testing.T) {
	loopback := dial.Reach{Loopback: true}
	for _, a := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"} {
		require.NoError(t, loopback.Check(netip.MustParseAddr(a)), a)
	}
	require.Error(t, loopback.Check(netip.MustParseAddr("169.254.169.254")))
	require.Error(t, loopback.Check(netip.MustParseAddr("0.0.0.0")))
	one := dial.Reach{Allow: []netip.Prefix{netip.MustParsePrefix("169.254.3.0/24"), netip.MustParsePrefix("fe80::/64")}}
	for _, a := range []string{"169.254.3.7", "::ffff:169.254.3.7", "fe80::7%eth0"} {
		require.NoError(t, one.Check(netip.MustParseAddr(a)), a)
	}
	require.Error(t, one.Check(netip.MustParseAddr("169.254.169.254")))
	require.Error(t, one.Check(netip.MustParseAddr("127.0.0.1")))
}

func TestHosts(t *testing.T) {
	for _, host := range []string{"localhost", "LocalHost.", "a.localhost", "127.0.0.1", "[::1]", "::1", "169.254.169.254."} {
		require.Error(t, dial.Reach{}.CheckHost(host), host)
	}
	for _, host := range []string{"bmc.example.org", "10.0.0.1", "localhost.example.org"} {
		require.NoError(t, dial.Reach{}.CheckHost(host), host)
	}
}

func client(r dial.Reach, proxy *url.URL) *http.Client {
	direct := &http.Transport{DialContext: (&net.Dialer{Control: r.Control}).DialContext}
	return &http.Client{Transport: &dial.Transport{
		Reach: r, ProxyOf: http.ProxyURL(proxy), Direct: direct, Proxied: &http.Transport{Proxy: http.ProxyURL(proxy)},
	}}
}

func get(c *http.Client, address string) error {
	resp, err := c.Get(address) //nolint:noctx // ends with the test's server
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

// What a name resolves to is looked at, not the name.
func TestNamesAreLookedAtAfterTheyAreResolved(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	here := "http://localhost:" + port
	require.Equal(t, fault.Invalid, fault.KindOf(get(client(dial.Reach{}, nil), here)))
	require.Zero(t, asked)
	require.NoError(t, get(client(dial.Reach{Loopback: true}, nil), here))
	require.Equal(t, 1, asked)
}

func TestAProxyIsNoWayAround(t *testing.T) {
	asked := ""
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.String() }))
	t.Cleanup(s.Close)
	proxy, err := url.Parse(s.URL)
	require.NoError(t, err)
	for _, to := range []string{"http://169.254.169.254/", "http://localhost/", "http://127.0.0.2/"} {
		require.Equal(t, fault.Invalid, fault.KindOf(get(client(dial.Reach{}, proxy), to)), to)
		require.Empty(t, asked)
	}
	require.NoError(t, get(client(dial.Reach{}, proxy), "http://192.0.2.1/a"), "the proxy itself may be anywhere")
	require.Equal(t, "http://192.0.2.1/a", asked)
}
