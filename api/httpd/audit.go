package httpd

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/audit"
)

// AuditStore keeps the audit.
type AuditStore interface {
	// Audit writes the row of a request that changed nothing, or was refused. inDoubt means that a transaction may have written it.
	Audit(ctx context.Context, e audit.Entry, inDoubt bool) error
	// FoldLogIns adds refused log-ins to those that were counted before.
	FoldLogIns(ctx context.Context, all []audit.LogIns) error
}

// auditTime bounds the writing of a row after the answer to its request is known.
const auditTime = 2 * time.Second

// Unaudited is the route for the calls of programs that report, and ask for nothing: it has no rows in the audit.
func (r Route) Unaudited() Route {
	r.unaudited = true
	return r
}

// Audited reports whether requests for the route have a row in the audit.
func (r Route) Audited() bool {
	return r.Path != "" && !r.unaudited && r.Method != http.MethodGet && r.Method != http.MethodHead
}

// attributedKey marks a request that was let in.
const attributedKey = "attributed"

// audited gives a request that may change something its record, which the store writes with the change. It writes the record itself for a
// request that has changed nothing, and counts requests that were refused before it was known who sends them.
func (s *Server) audited(c *gin.Context) {
	if s.Audit == nil {
		return
	}
	route := s.routeOf(c)
	var record *audit.Record
	if route.Audited() {
		name := route.Method + " " + route.Path
		rule := name
		if r := route.Rule(); r != nil {
			rule = r.Name
		}
		e := audit.Entry{
			From: c.RemoteIP(), RequestID: c.Writer.Header().Get(headerRequestID), Rule: rule, Route: name, NodeName: c.Param("node"),
		}
		e.Kind, e.Target = target(c)
		var ctx context.Context
		ctx, record = audit.Begin(c.Request.Context(), e)
		c.Request = c.Request.WithContext(ctx)
	}
	c.Next()
	switch status := c.Writer.Status(); {
	case !c.GetBool(attributedKey):
		if status == http.StatusUnauthorized || status == http.StatusTooManyRequests || route.Audited() && status >= http.StatusBadRequest {
			s.logIns.add(sourceOf(c.RemoteIP()), status, route.Method+" "+route.Path)
		}
	default:
		s.writeAudit(c, record, status)
	}
}

// attributed says in the record of a request who sends it.
func (s *Server) attributed(c *gin.Context) {
	c.Set(attributedKey, true)
	audit.Of(c.Request.Context()).By(By(c), IdentityOf(c).Method)
}

func (s *Server) writeAudit(c *gin.Context, record *audit.Record, status int) {
	e, ok := record.Take()
	if !ok {
		return
	}
	e.Outcome, e.Status = audit.OutcomeOf(status), status
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), auditTime)
	defer cancel()
	if err := s.Audit.Audit(ctx, e, record.InDoubt()); err != nil {
		Logger(c).Error("the audit has no row of this request", zap.Error(err), zap.String("user", e.User), zap.String("from", e.From),
			zap.String("route", e.Route), zap.String("node", e.NodeName), zap.Int("status", status))
	}
}

// target is what the path of a request names besides a node: the last parameter.
func target(c *gin.Context) (kind, name string) {
	for _, p := range c.Params {
		if p.Key != "node" && p.Key != secretParam {
			kind, name = p.Key, p.Value
		}
	}
	return kind, name
}

// sourceOf is what counts as one client. Who has one IPv6 address usually has all of its /64.
func sourceOf(ip string) string {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return ip
	}
	return strings.Clone(p.String())
}
