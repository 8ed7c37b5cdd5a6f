package api

import (
	"github.com/gin-gonic/gin"
)

// What no driver does yet is answered as by an Ironic whose driver has it
// disabled; where nobody covers the node, or the request is wrong, that comes first.

// unsupported says that the node's driver can't do what is asked for.
func (s *Server) unsupported(c *gin.Context, what string) (int, any, error) {
	n, fl, err := s.nodeAndFleet(c)
	if err == nil {
		err = fl.covered(n)
	}
	if err == nil {
		err = n.Unsupported(what)
	}
	return 0, nil, err
}

// getBootDevice answers GET /v1/nodes/X/management/boot_device and what is below it.
func (s *Server) getBootDevice(c *gin.Context) (int, any, error) {
	if q := readQuery(c); q.err != nil {
		return 0, nil, q.err
	}
	return s.unsupported(c, "management")
}

// putBootDevice answers PUT /v1/nodes/X/management/boot_device.
func (s *Server) putBootDevice(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBody, "boot_device", "persistent")
	if err != nil {
		return 0, nil, err
	}
	in.need("boot_device")
	in.text("boot_device")
	in.boolean("persistent")
	if in.err != nil {
		return 0, nil, in.err
	}
	return s.unsupported(c, "management")
}

// getConsole answers GET /v1/nodes/X/states/console.
func (s *Server) getConsole(c *gin.Context) (int, any, error) {
	if q := readQuery(c); q.err != nil {
		return 0, nil, q.err
	}
	return s.unsupported(c, "console")
}

// putConsole answers PUT /v1/nodes/X/states/console.
func (s *Server) putConsole(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBody, "enabled")
	if err != nil {
		return 0, nil, err
	}
	in.need("enabled")
	in.boolean("enabled")
	if in.err != nil {
		return 0, nil, in.err
	}
	return s.unsupported(c, "console")
}

// attachMedia answers POST /v1/nodes/X/vmedia.
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
	_, _, err := s.unsupported(c, what)
	return 0, nil, asBadRequest(err)
}
