package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/node"
)

// The network interface noop, which is the only one, keeps no VIFs: who plugs one
// is told that it is done, as by Ironic's (drivers/modules/network/noop.py). It
// needs a conductor there, and so here.

// minorVIFPort is the version that added port_uuid and portgroup_uuid. In older ones they have no meaning.
const minorVIFPort = 67

// served: a conductor covers the node of the path. Ironic answers 400
// where none does for what is attached to a node.
func (s *Server) served(c *gin.Context) error {
	n, fl, err := s.NodeAndFleet(c)
	if err != nil {
		return err
	}
	return intent.AsBadRequest(fl.RequireCovered(n))
}

// listVIFs answers GET /v1/nodes/X/vifs.
func (s *Server) listVIFs(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	if err := s.served(c); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"vifs": []any{}}, nil
}

// attachVIF answers POST /v1/nodes/X/vifs.
func (s *Server) attachVIF(c *gin.Context) (int, any, error) {
	in, err := format.ReadOpenObject(c, format.MaxBody) // other keys are for the network interface
	if err != nil {
		return 0, nil, err
	}
	in.Require("id")
	if id := in.Text("id"); in.Err == nil && !node.IsUUID(id) && !node.ValidName(id, format.MaxMinor) {
		in.Fail("Expected UUID or name for id: %s", format.Clip(id))
	}
	if format.Minor(c) >= minorVIFPort && in.Has("port_uuid") && in.Has("portgroup_uuid") {
		in.Fail("Cannot specify both port_uuid and portgroup_uuid")
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	return http.StatusNoContent, nil, s.served(c)
}

// detachVIF answers DELETE /v1/nodes/X/vifs/V.
func (s *Server) detachVIF(c *gin.Context) (int, any, error) {
	return http.StatusNoContent, nil, s.served(c)
}
