package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// The network interface noop, which is the only one, keeps no VIFs: who plugs one
// is told that it is done, as by Ironic's (drivers/modules/network/noop.py). It
// needs a conductor there, and so here.

// served: a conductor covers the node of the path. Ironic answers 400
// where none does for what is attached to a node.
func (s *Server) served(c *gin.Context) error {
	n, fl, err := s.nodeAndFleet(c)
	if err != nil {
		return err
	}
	return asBadRequest(fl.covered(n))
}

// listVIFs answers GET /v1/nodes/X/vifs.
func (s *Server) listVIFs(c *gin.Context) (int, any, error) {
	if q := readQuery(c); q.err != nil {
		return 0, nil, q.err
	}
	if err := s.served(c); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"vifs": []any{}}, nil
}

// attachVIF answers POST /v1/nodes/X/vifs.
func (s *Server) attachVIF(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBody, "id", "port_uuid", "portgroup_uuid")
	if err != nil {
		return 0, nil, err
	}
	in.need("id")
	in.text("id")
	for _, name := range []string{"port_uuid", "portgroup_uuid"} {
		if in.has(name) && minor(c) < 67 {
			return 0, nil, tooNew(67)
		}
		if v := in.text(name); v != "" && !isUUID(v) {
			in.fail("Expected UUID for %s: %s", name, clip(v))
		}
	}
	if in.err != nil {
		return 0, nil, in.err
	}
	return http.StatusNoContent, nil, s.served(c)
}

// detachVIF answers DELETE /v1/nodes/X/vifs/V.
func (s *Server) detachVIF(c *gin.Context) (int, any, error) {
	return http.StatusNoContent, nil, s.served(c)
}
