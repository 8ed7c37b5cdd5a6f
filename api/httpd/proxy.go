package httpd

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// forwarded returns a handler for which a request's address is that of the client: proxies in the trusted networks say in X-Forwarded-For
// whom they ask for. The header's addresses are read from the right, and the first that is no trusted proxy is the client's: what stands
// left of it is the client's own word.
func forwarded(h http.Handler, trusted []netip.Prefix) http.Handler {
	if len(trusted) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from := clientOf(r, trusted); from != "" {
			copied := *r
			copied.RemoteAddr = net.JoinHostPort(from, "0")
			r = &copied
		}
		h.ServeHTTP(w, r)
	})
}

// clientOf is the address of the client for whom a trusted proxy sends the request; "" = no proxy says it.
func clientOf(r *http.Request, trusted []netip.Prefix) (client string) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !within(host, trusted) {
		return ""
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		ip, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return client // the hops before it may be anybody's word
		}
		if client = ip.Unmap().String(); !within(client, trusted) {
			return client
		}
	}
	return client
}

// within reports whether an address is in one of the networks.
func within(address string, networks []netip.Prefix) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip.Unmap().WithZone("")) })
}
