package ironic

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
)

// What no driver does yet is answered as by an Ironic whose driver has it
// disabled; where nobody covers the node, or the request is wrong, that comes first.

// unsupported says that the node's driver can't do what is asked for.
func (s *Server) unsupported(c *gin.Context, what string) (int, any, error) {
	n, fl, err := s.NodeAndFleet(c)
	if err == nil {
		err = fl.RequireCovered(n)
	}
	if err == nil {
		err = n.Unsupported(what)
	}
	return 0, nil, err
}

// attachMedia answers POST /v1/nodes/X/vmedia.
func (s *Server) attachMedia(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "device_type", "image_url", "image_download_source")
	if err != nil {
		return 0, nil, err
	}
	in.Require("device_type")
	in.Require("image_url")
	if in.Err != nil {
		return 0, nil, in.Err
	}
	return s.noMedia(c, "attach_virtual_media")
}

// detachMedia answers DELETE /v1/nodes/X/vmedia.
func (s *Server) detachMedia(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c, "device_types"); q.Err != nil {
		return 0, nil, q.Err
	}
	return s.noMedia(c, "detach_virtual_media")
}

// getMedia answers GET /v1/nodes/X/vmedia.
func (s *Server) getMedia(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	return s.noMedia(c, "get_virtual_media")
}

func (s *Server) noMedia(c *gin.Context, what string) (int, any, error) {
	_, _, err := s.unsupported(c, what)
	return 0, nil, intent.AsBadRequest(err)
}
