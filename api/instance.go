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
	p := q.page(s.MaxLimit, unsortable)
	f := share.InstanceFilter{Service: q.word("service"), Marker: q.uuid("marker"), Limit: p.limit}
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
	out := make([]gin.H, 0, len(all))
	for _, i := range all {
		wanted := "present"
		if i.Absent {
			wanted = "absent"
		}
		out = append(out, gin.H{
			"uuid": i.UUID, "node_uuid": i.Node, "service": orNull(i.Service), "wanted": wanted, "orphaned": i.Absent && i.Standing,
			"created_at": timestamp(&i.CreatedAt), "absent_since": timestamp(i.AbsentSince), "confirmed_at": timestamp(i.ConfirmedAt),
		})
	}
	body := gin.H{"instances": out, "next": nil}
	if len(all) == p.limit {
		body["next"] = s.publicURL(c) + "/temper/v1/" + q.next("instances", all[len(all)-1].UUID, p.limit)
	}
	return http.StatusOK, body, nil
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
	s.logger(c).Info("instance is not wanted any more", zap.String("instance", uuid), zap.String("user", user(c)))
	return http.StatusNoContent, nil, nil
}
