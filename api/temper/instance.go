package temper

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// listInstances answers GET /temper/v1/instances.
func (s *Server) listInstances(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "service", "wanted", "limit", "marker")
	p := q.PageByUUID(s.MaxLimit, format.Unsortable)
	f := share.InstanceFilter{Service: q.Word("service"), Marker: p.Marker, Limit: p.Limit}
	switch wanted := q.Word("wanted"); wanted {
	case "":
	case "absent":
		f.Absent = true
	default:
		q.Fail("wanted can be absent only: %s", format.Clip(wanted))
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	all, err := s.Store.Instances(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[share.Instance]{
		Name: "instances", Path: "/temper/v1/instances", Marker: func(i *share.Instance) string { return i.UUID }, Show: showInstance,
	}.Body(q, p, all), nil
}

func showInstance(i *share.Instance) any {
	wanted := "present"
	if i.Absent {
		wanted = "absent"
	}
	return gin.H{
		"uuid": i.UUID, "node_uuid": i.Node, "service": format.OrNull(i.Service), "wanted": wanted, "orphaned": i.Absent && i.Standing,
		"created_at": format.Timestamp(&i.CreatedAt), "absent_since": format.Timestamp(i.AbsentSince), "confirmed_at": format.Timestamp(i.ConfirmedAt),
	}
}

// deleteInstance answers DELETE /temper/v1/instances/UUID: it is not wanted any more.
func (s *Server) deleteInstance(c *gin.Context) (int, any, error) {
	uuid := c.Param("instance")
	if !node.IsUUID(uuid) {
		return 0, nil, fault.New(fault.Invalid, "Expected a UUID but received %s.", format.Clip(uuid))
	}
	if err := s.Store.MarkAbsent(c.Request.Context(), node.CanonicalUUID(uuid)); err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("instance marked absent", zap.String("instance", uuid), zap.String("user", httpd.User(c)))
	return http.StatusNoContent, nil, nil
}
