package ironic

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/node"
)

// putPower answers PUT /v1/nodes/X/states/power.
func (s *Server) putPower(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "target", "timeout")
	if err != nil {
		return 0, nil, err
	}
	in.Require("target")
	target := node.PowerState(in.Text("target"))
	if in.Err == nil && (format.Minor(c) < node.PowerMinor(target) || format.Minor(c) < 27 && in.Has("timeout")) {
		return 0, nil, format.TooNew(27)
	}
	timeout, err := intent.PowerTimeout(in)
	if err != nil {
		return 0, nil, err
	}
	audit.Of(c.Request.Context()).Verb(string(target))
	by := httpd.User(c)
	return s.Request(c, intent.Asked{Decide: func(n *node.Node, fl *intent.Fleet) (*node.Request, error) {
		return s.DecidePower(n, fl, target, timeout, by)
	}})
}
