package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// Reach decides to which addresses this process connects if they come from others: in an image's URL,
// a BMC's address, an agent's callback. Nobody must be able to find out in this way what listens on
// this machine or its links, or to use a cloud's metadata service. The zero value refuses all of these.
type Reach struct {
	Loopback bool           // allow this machine itself, for simulated servers or a stack on one machine
	Allow    []netip.Prefix // networks that are allowed although they would be refused
	Setting  string         // the name of the setting that lists them, for errors
	// Authorities are those of the certificates of servers; nil = the system's.
	Authorities *x509.CertPool
}

// metadata are metadata services of clouds, which give credentials to any client.
// The most common one, 169.254.169.254, is link-local anyway.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("168.63.129.16"),   // Azure
}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")      // RFC 1122; Linux takes 0.0.0.0 for itself
	reserved    = netip.MustParsePrefix("240.0.0.0/4")    // RFC 1112, and broadcast
	localNAT64  = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
)

// embeddings are IPv6 networks whose addresses contain an IPv4 address, and the
// byte at which it begins.
var embeddings = []struct {
	in netip.Prefix
	at int
}{
	{netip.MustParsePrefix("::/96"), 12},           // RFC 4291, IPv4-compatible
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // RFC 6052, NAT64
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // RFC 2765, translated
	{netip.MustParsePrefix("2002::/16"), 2},        // RFC 3056, 6to4
}

// Check returns fault.Invalid if this process must not connect to a.
func (r Reach) Check(a netip.Addr) error {
	a = a.WithZone("").Unmap()
	what := r.refused(a)
	if what == "" {
		return nil
	}
	help := ""
	if r.Setting != "" {
		help = "; the setting " + r.Setting + " lists networks that are allowed all the same"
		if a.IsLoopback() {
			help += ", and allow_loopback is for a stack on one machine"
		}
	}
	return fault.New(fault.Invalid, "%s is %s, and connections to it are not allowed%s", a, what, help)
}

// refused says why a is refused, "" if it is not.
func (r Reach) refused(a netip.Addr) string {
	if slices.ContainsFunc(r.Allow, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return ""
	}
	switch {
	case a.IsLoopback():
		if r.Loopback {
			return ""
		}
		return "an address of this machine (loopback)"
	case a.IsUnspecified(), thisNetwork.Contains(a):
		return "not the address of a host"
	case slices.Contains(metadata, a):
		return "a cloud's metadata service"
	case a.IsLinkLocalUnicast():
		return "a link-local address"
	case a.IsMulticast():
		return "a multicast address"
	case reserved.Contains(a):
		return "a reserved address"
	}
	for _, e := range embeddings {
		if e.in.Contains(a) {
			raw := a.As16()
			return r.refused(netip.AddrFrom4([4]byte(raw[e.at : e.at+4])))
		}
	}
	if localNAT64.Contains(a) {
		return r.refusedLocalNAT64(a.As16())
	}
	return ""
}

// refusedLocalNAT64 does not know the length of the site's prefix. It tries the two
// usual ones: 96 bits, and 48 bits, where byte 8 is skipped (RFC 6052, section 2.2).
func (r Reach) refusedLocalNAT64(raw [16]byte) string {
	for _, in := range [][4]byte{{raw[12], raw[13], raw[14], raw[15]}, {raw[6], raw[7], raw[9], raw[10]}} {
		if in != [4]byte{} {
			if what := r.refused(netip.AddrFrom4(in)); what != "" {
				return what
			}
		}
	}
	return ""
}

// CheckHost is Check for the host of a URL, as far as possible without resolving
// it. Control checks the addresses that it resolves to.
func (r Reach) CheckHost(host string) error {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return r.Check(a)
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return r.Check(netip.AddrFrom4([4]byte{127, 0, 0, 1})) // RFC 6761
	}
	return nil
}

// Control is for net.Dialer.Control. It checks each address that a name resolved to
// right before connecting, so that the name can't resolve differently in between.
func (r Reach) Control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fault.New(fault.Invalid, "address to connect to: %w", err)
	}
	return r.Check(a.Addr())
}

// CheckResolved is CheckHost, and Check for all addresses that the host resolves to.
// It is for requests through a proxy, whose connections Control does not see. A host
// that does not resolve here is left to the proxy.
func (r Reach) CheckResolved(ctx context.Context, host string) error {
	if err := r.CheckHost(host); err != nil {
		return err
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for _, a := range found {
		if err := r.Check(a); err != nil {
			return err
		}
	}
	return nil
}

// Transport sends a request through Proxied if ProxyOf returns a proxy for it, else
// through Direct. Direct's dialer uses Reach.Control. Proxied's does not: the proxy is
// the operator's own and may be anywhere. Redirected requests pass here, too.
type Transport struct {
	Reach           Reach
	ProxyOf         func(*http.Request) (*url.URL, error)
	Direct, Proxied *http.Transport
}

// NewTransport returns a Transport for servers that users name, with the proxy that the environment names. timeout is for each
// of dialing, the TLS handshake and the headers of the answer.
func NewTransport(r Reach, timeout time.Duration) *Transport {
	direct := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: timeout, Control: r.Control}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: r.Authorities},
		TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
		IdleConnTimeout: 30 * time.Second, MaxIdleConns: 8, MaxResponseHeaderBytes: 64 << 10,
	}
	proxied := direct.Clone()
	proxied.Proxy, proxied.DialContext = http.ProxyFromEnvironment, (&net.Dialer{Timeout: timeout}).DialContext
	return &Transport{Reach: r, ProxyOf: http.ProxyFromEnvironment, Direct: direct, Proxied: proxied}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	proxy, err := t.ProxyOf(req)
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return t.Direct.RoundTrip(req)
	}
	if err := t.Reach.CheckResolved(req.Context(), req.URL.Hostname()); err != nil {
		return nil, err
	}
	return t.Proxied.RoundTrip(req)
}

// CloseIdleConnections closes the idle connections of both transports.
func (t *Transport) CloseIdleConnections() {
	t.Direct.CloseIdleConnections()
	t.Proxied.CloseIdleConnections()
}
