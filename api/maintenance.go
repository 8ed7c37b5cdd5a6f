package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// putMaintenance answers PUT /v1/nodes/X/maintenance. Maintenance is set at any
// time, also while an operation holds the node: it never answers 409.
func (s *Server) putMaintenance(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBody, "reason")
	if err != nil {
		return 0, nil, err
	}
	reason := in.text("reason")
	if len(reason) > maxReason {
		in.fail("The reason is longer than %d bytes", maxReason)
	}
	if in.err != nil {
		return 0, nil, in.err
	}
	return s.maintain(c, true, reason)
}

// deleteMaintenance answers DELETE /v1/nodes/X/maintenance; reason and fault go with it.
func (s *Server) deleteMaintenance(c *gin.Context) (int, any, error) { return s.maintain(c, false, "") }

func (s *Server) maintain(c *gin.Context, on bool, reason string) (int, any, error) {
	if hasNUL(reason) {
		return 0, nil, fault.New(fault.Invalid, "The reason holds a NUL character")
	}
	ident, err := s.ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	o, err := s.Store.SetMaintenance(c.Request.Context(), ident, on, reason, user(c))
	if err != nil {
		return 0, nil, err
	}
	s.paused(c, o)
	return http.StatusAccepted, nil, nil
}

// paused tells the workflow of an open operation, if there is one that can hear
// of it, that maintenance was set or lifted: a step that runs sees it by itself.
func (s *Server) paused(c *gin.Context, o *node.Operation) {
	if o != nil && o.Listens() && o.BegunAt != nil {
		s.told(c, o, "nudge", s.Operations.Nudge)
	}
}
