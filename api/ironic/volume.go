package ironic

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
)

// Volume connectors and targets are records for clients: the storage interface noop, the only one, connects no volume.

// minorVolume is the version that added them.
const minorVolume = 32

// getVolume answers GET /v1/volume.
func (s *Server) getVolume(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	return http.StatusOK, volumeLinks(c, "volume"), nil
}

// getNodeVolume answers GET /v1/nodes/X/volume.
func (s *Server) getNodeVolume(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, volumeLinks(c, "nodes/"+n.UUID+"/volume"), nil
}

func volumeLinks(c *gin.Context, path string) gin.H {
	base := format.PublicURL(c)
	return gin.H{
		"links":      format.Links(base, path+"/"),
		"connectors": format.Links(base, path+"/connectors"),
		"targets":    format.Links(base, path+"/targets"),
	}
}

// volumesOf reads a list of a node's volume connectors or targets: of the node of the path, or of the one that the filter names,
// or of all (nil).
func volumesOf[T any](s *Server, c *gin.Context, r *resource[T]) (l *listing[T], path string, of *string, err error) {
	if l, err = r.read(c, s.MaxLimit, false, "node"); err != nil {
		return nil, "", nil, err
	}
	path = r.path
	ident := l.Node("node")
	if below := c.Param("node"); below != "" {
		ident, path = below, "nodes/"+url.PathEscape(below)+"/"+r.path
	}
	if l.Err != nil || ident == "" {
		return l, path, nil, l.Err
	}
	n, err := s.Find(c, ident)
	if err != nil {
		return nil, "", nil, err
	}
	return l, path, &n.UUID, nil
}

// changeVolume calls change, which writes a volume connector or target (what, for errors) while the row of its node is locked. allow
// refuses that while the node is held, or is not powered off.
func (s *Server) changeVolume(c *gin.Context, what string, change func(ctx context.Context, allow func(*node.Node) error) error) error {
	ctx := c.Request.Context()
	fl, err := s.Fleet(ctx)
	if err != nil {
		return err
	}
	return s.InTurn(ctx, fl, func(t *lockwait.Turn) error {
		return change(ctx, func(n *node.Node) error {
			return s.Admit(t, n, func(n *node.Node) error { return admission.VolumeChange(n, what, fl.Reservation(n)) })
		})
	})
}
