package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/node"
)

// getConsole answers GET /v1/nodes/X/states/console. As in Ironic, console_enabled is true as soon as clients can use the
// console: when the conductor that holds it listens. Until then the node's own console_enabled is true already.
func (s *Server) getConsole(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	n, fl, err := s.NodeAndFleet(c)
	if err == nil {
		err = fl.RequireCovered(n)
	}
	if err != nil {
		return 0, nil, err
	}
	out := gin.H{"console_enabled": false, "console_info": nil}
	if !n.ConsoleEnabled {
		return http.StatusOK, out, nil
	}
	kind := n.Implementation("console").Console
	if kind == "" { // as Ironic's fake console, which tells nothing
		return http.StatusOK, gin.H{"console_enabled": true, "console_info": gin.H{}}, nil
	}
	held, err := s.Store.Console(c.Request.Context(), n.ID)
	if err != nil {
		return 0, nil, err
	}
	if held.Address != "" {
		out = gin.H{"console_enabled": true, "console_info": gin.H{"type": kind, "url": held.URL()}}
	}
	return http.StatusOK, out, nil
}

// putConsole answers PUT /v1/nodes/X/states/console. It works in maintenance, and while an operation holds the node, because people
// want to see what the server does then.
func (s *Server) putConsole(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "enabled")
	if err != nil {
		return 0, nil, err
	}
	in.Require("enabled")
	on := in.Boolean("enabled")
	if on == nil {
		in.Fail("Expected true or false for enabled, not null")
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	n, fl, err := s.NodeAndFleet(c)
	if err == nil {
		err = fl.RequireCovered(n)
	}
	if err == nil {
		err = s.Store.EnableConsole(c.Request.Context(), n.UUID, *on, httpd.User(c), func(n *node.Node) error { return s.ValidateInterface(n, "console") })
	}
	if err != nil {
		return 0, nil, err
	}
	format.Located(c, "nodes/"+c.Param("node")+"/states/console")
	return http.StatusAccepted, nil, nil
}
