// Package origin protects an HTTP listener from web pages that use it through a visitor's browser. It does not
// authenticate anybody.
package origin

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/text"
)

// Any is the allowed host that stands for every host.
const Any = "*"

// Loopback reports whether only this machine can reach what listens on the address.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && LoopbackHost(host)
}

// LoopbackHost reports whether a name or an address is this machine's own, which no other machine reaches. No name server is asked.
func LoopbackHost(host string) bool {
	if host = strings.ToLower(host); host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761: no name server is asked for it
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// Guard decides from a request's headers whether to answer it.
type Guard struct {
	hosts []string // allowed in the Host header; nil = any
	cross *http.CrossOriginProtection
}

// NewGuard returns the guard of a listener on the given address. If that is on loopback, the Host header must be a
// loopback name or address or one of the allowed hosts, because being on the same machine is all that lets a client
// in. A web page whose own name resolves to loopback (DNS rebinding) has the same origin as the listener for a browser,
// and only the Host header shows it. Other listeners accept every Host header.
func NewGuard(listen string, allowed []string) *Guard {
	g := &Guard{cross: http.NewCrossOriginProtection()}
	if Loopback(listen) && !slices.Contains(allowed, Any) {
		g.hosts = make([]string, 0, len(allowed))
		for _, host := range allowed {
			g.hosts = append(g.hosts, hostOf(host))
		}
	}
	return g
}

// Refusal is the answer to a request that is not let through.
type Refusal struct {
	Status  int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Check returns nil if the request may be answered. It refuses a Host header that is not allowed, and changes (methods
// other than GET, HEAD and OPTIONS) that a browser sends for a page of another origin. Clients that are no browsers send
// neither Origin nor Sec-Fetch-Site, and are let through.
func (g *Guard) Check(r *http.Request) *Refusal {
	if host := hostOf(r.Host); g.hosts != nil && host != "" && !LoopbackHost(host) && !slices.Contains(g.hosts, host) {
		return &Refusal{http.StatusMisdirectedRequest, fmt.Sprintf(
			"The Host header names %q, which is not a name of this loopback listener; if it should be, add it to the setting allowed_hosts", shortened(host))}
	}
	if g.cross.Check(r) != nil {
		return &Refusal{http.StatusForbidden, "A browser sent this request for a web page of another origin"}
	}
	return nil
}

// CheckAll is like Check, but treats every method as a change. It is for a GET that has an effect.
func (g *Guard) CheckAll(r *http.Request) *Refusal {
	unsafe := *r
	unsafe.Method = http.MethodPost
	return g.Check(&unsafe)
}

// Handler calls h for requests that the guard lets through, and answers the others with the JSON object {"error": message}.
func (g *Guard) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusal := g.Check(r); refusal != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(refusal.Status)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": refusal.Message}) // fails only if the client has gone
			return
		}
		h.ServeHTTP(w, r)
	})
}

// hostOf returns a Host header or allowed host in lower case without port, brackets and trailing dot.
func hostOf(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(s, "[]"), "."))
}

func shortened(s string) string {
	return text.Truncate(s, 100, "...")
}
