package ironic

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// attachMedia answers POST /v1/nodes/X/vmedia. As in Ironic the answer does not wait for the BMC, which fetches the image itself: Temper
// keeps no images for BMCs, so that image_download_source can be http only, which is the default here.
func (s *Server) attachMedia(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "device_type", "image_url", "image_download_source")
	if err != nil {
		return 0, nil, err
	}
	in.Require("device_type")
	in.Require("image_url")
	device, image, source := in.Text("device_type"), in.Text("image_url"), in.Text("image_download_source")
	if !slices.Contains(node.MediaDevices, device) {
		in.Fail("Invalid device_type %s. Allowed device types are: %s", format.Clip(device), strings.Join(node.MediaDevices, ", "))
	}
	if u, err := url.Parse(image); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(image) > maxImageURL {
		in.Fail("Invalid image_url: it must be an http or https URL of at most %d bytes that the BMC can fetch", maxImageURL)
	}
	if in.Fields["image_download_source"] != nil && source != "http" {
		in.Fail("Invalid image_download_source %s: the BMC fetches the image itself, so it can be http only", format.Clip(source))
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	return s.media(c, node.KindAttachMedia, map[string]any{node.ArgDeviceType: device, node.ArgImageURL: image})
}

// maxImageURL bounds the URL of an image, in bytes.
const maxImageURL = 4096

// detachMedia answers DELETE /v1/nodes/X/vmedia.
func (s *Server) detachMedia(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "device_types")
	args := map[string]any{}
	if q.Has("device_types") {
		types := []any{}
		for _, name := range q.List("device_types") {
			if !slices.Contains(node.MediaDevices, name) {
				q.Fail("Invalid device_types %s. Allowed device types are: %s", format.Clip(name), strings.Join(node.MediaDevices, ", "))
			}
			types = append(types, name)
		}
		args[node.ArgDeviceTypes] = types
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	return s.media(c, node.KindDetachMedia, args)
}

// media opens an operation about virtual media.
func (s *Server) media(c *gin.Context, k node.OperationKind, args map[string]any) (int, any, error) {
	if _, _, err := s.Submit(c, s.management(c, k, plan.Options{Args: args})); err != nil {
		return 0, nil, intent.AsBadRequest(err)
	}
	return http.StatusNoContent, nil, nil
}

// getMedia answers GET /v1/nodes/X/vmedia.
func (s *Server) getMedia(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	read, err := s.ReadManagement(c, node.ReadMedia, node.KindAttachMedia, "get_virtual_media")
	if err != nil {
		return 0, nil, intent.AsBadRequest(err)
	}
	list := []any{}
	for _, d := range read.Media {
		list = append(list, gin.H{"media_types": format.List(d.Types), "inserted": d.Inserted, "image": d.Image})
	}
	return http.StatusOK, list, nil
}
