package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/share"
)

// listInstances answers GET /temper/v1/instances.
func (s *Server) listInstances(c *gin.Context) (int, any, error) {
	q := readQuery(c, "service", "wanted", "limit", "marker")
	p := q.pageByUUID(s.MaxLimit, unsortable)
	f := share.InstanceFilter{Service: q.word("service"), Marker: p.marker, Limit: p.limit}
	switch wanted := q.word("wanted"); wanted {
	case "":
	case "absent":
		f.Absent = true
	default:
		q.fail("wanted can be absent only: %s", clip(wanted))
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	all, err := s.Store.Instances(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, collection[share.Instance]{
		name: "instances", path: "/temper/v1/instances", marker: func(i *share.Instance) string { return i.UUID }, show: showInstance,
	}.body(q, p, all), nil
}

func showInstance(i *share.Instance) any {
	wanted := "present"
	if i.Absent {
		wanted = "absent"
	}
	return gin.H{
		"uuid": i.UUID, "node_uuid": i.Node, "service": orNull(i.Service), "wanted": wanted, "orphaned": i.Absent && i.Standing,
		"created_at": timestamp(&i.CreatedAt), "absent_since": timestamp(i.AbsentSince), "confirmed_at": timestamp(i.ConfirmedAt),
	}
}

// deleteInstance answers DELETE /temper/v1/instances/UUID: it is not wanted any more.
func (s *Server) deleteInstance(c *gin.Context) (int, any, error) {
	uuid := c.Param("instance")
	if !isUUID(uuid) {
		return 0, nil, fault.New(fault.Invalid, "Expected a UUID but received %s.", clip(uuid))
	}
	if err := s.Store.MarkAbsent(c.Request.Context(), canonicalUUID(uuid)); err != nil {
		return 0, nil, err
	}
	logger(c).Info("instance is not wanted any more", zap.String("instance", uuid), zap.String("user", user(c)))
	return http.StatusNoContent, nil, nil
}
