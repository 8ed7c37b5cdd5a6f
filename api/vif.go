package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
)

// The network interface noop, which is the only one, keeps no VIFs: who plugs one
// is told that it is done, as by Ironic's (drivers/modules/network/noop.py). It
// needs a conductor there, and so here.

// served is the node of the path where a conductor covers it. Ironic answers 400
// where none does for what is attached to a node.
func (s *Server) served(c *gin.Context) (driver string, err error) {
	n, fl, err := s.nodeAndFleet(c)
	if err != nil {
		return "", err
	}
	return n.Driver, asBadRequest(fl.covered(n))
}

// listVIFs answers GET /v1/nodes/X/vifs.
func (s *Server) listVIFs(c *gin.Context) (int, any, error) {
	if q := readQuery(c); q.err != nil {
		return 0, nil, q.err
	}
	if _, err := s.served(c); err != nil {
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
	_, err = s.served(c)
	return http.StatusNoContent, nil, err
}

// detachVIF answers DELETE /v1/nodes/X/vifs/V.
func (s *Server) detachVIF(c *gin.Context) (int, any, error) {
	_, err := s.served(c)
	return http.StatusNoContent, nil, err
}

// attachMedia answers POST /v1/nodes/X/vmedia. No driver gives virtual media to
// users yet.
func (s *Server) attachMedia(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBody, "device_type", "image_url", "image_download_source")
	if err != nil {
		return 0, nil, err
	}
	in.need("device_type")
	in.need("image_url")
	if in.err != nil {
		return 0, nil, in.err
	}
	return s.noMedia(c, "attach_virtual_media")
}

// detachMedia answers DELETE /v1/nodes/X/vmedia.
func (s *Server) detachMedia(c *gin.Context) (int, any, error) {
	if q := readQuery(c, "device_types"); q.err != nil {
		return 0, nil, q.err
	}
	return s.noMedia(c, "detach_virtual_media")
}

// getMedia answers GET /v1/nodes/X/vmedia.
func (s *Server) getMedia(c *gin.Context) (int, any, error) {
	if q := readQuery(c); q.err != nil {
		return 0, nil, q.err
	}
	return s.noMedia(c, "get_virtual_media")
}

func (s *Server) noMedia(c *gin.Context, what string) (int, any, error) {
	driver, err := s.served(c)
	if err == nil {
		err = fault.New(fault.Invalid, "Driver %s does not support %s (disabled or not implemented).", driver, what)
	}
	return 0, nil, err
}
