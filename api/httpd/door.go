package httpd

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/origin"
)

// Audience is whom a route or a listener is for.
type Audience uint8

// The audiences.
const (
	Clients   Audience = 1 << iota // people and programs, which log in
	Agents                         // the agents in ramdisks
	BMCs                           // which fetch the CDs that boot agents
	Everybody = Clients | Agents | BMCs
)

// Door is what a listener serves.
type Door struct {
	For    Audience
	Listen string // its address; see Config.Listen
	// Agents are the networks from which it serves agents; empty = all.
	Agents []netip.Prefix
}

type door struct {
	Door
	guard *origin.Guard
}

type doorKey struct{}

// Through is the part of the API that a listener serves: to others than the door is for a route is not there.
func (s *Server) Through(d Door) http.Handler {
	opened := &door{d, origin.NewGuard(d.Listen, s.hosts())}
	all := tidyPath(s.engine, s.Unversioned, s.CurrentURL)
	return forwarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), doorKey{}, opened)))
	}), s.TrustedProxies)
}

// admitted refuses requests for what the door of their listener does not serve, and those that a browser sends for a web page of
// another origin.
func (s *Server) admitted(c *gin.Context) {
	d := c.Request.Context().Value(doorKey{}).(*door) //nolint:forcetypeassert // Through has put it there
	r := s.routeOf(c)
	if d.For&cmp.Or(r.audience, Clients) == 0 { // a path without a route is of clients
		answer(s.NotFound)(c)
		c.Abort()
		return
	}
	if r.audience == Agents && !d.admits(c.RemoteIP()) {
		Logger(c).Warn("a request of an agent was refused: its address is in none of the networks of agents", zap.String("from", c.RemoteIP()))
		c.AbortWithStatusJSON(http.StatusForbidden, format.ErrorBody("Client", "Agents may not call from this address.", fault.ForbiddenRequest, nil))
		return
	}
	guarded(c, r, d.guard)
}

// admits reports whether agents may call from an address.
func (d *door) admits(from string) bool {
	return len(d.Agents) == 0 || within(from, d.Agents)
}
