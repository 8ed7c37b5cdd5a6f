package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
)

// putMaintenance answers PUT /v1/nodes/X/maintenance. Maintenance is set at any
// time, also while an operation holds the node: it never answers 409.
func (s *Server) putMaintenance(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "reason")
	if err != nil {
		return 0, nil, err
	}
	reason := in.Text("reason")
	if len(reason) > format.MaxReason {
		in.Fail("The reason is longer than %d bytes", format.MaxReason)
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	return s.maintain(c, true, reason)
}

// deleteMaintenance answers DELETE /v1/nodes/X/maintenance; reason and fault go with it.
func (s *Server) deleteMaintenance(c *gin.Context) (int, any, error) { return s.maintain(c, false, "") }

func (s *Server) maintain(c *gin.Context, on bool, reason string) (int, any, error) {
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	o, err := s.Store.SetMaintenance(c.Request.Context(), ident, on, reason, httpd.User(c))
	if err != nil {
		return 0, nil, err
	}
	s.TellPaused(c, o)
	return http.StatusAccepted, nil, nil
}
