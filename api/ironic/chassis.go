package ironic

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/node"
)

var chassisSet = format.Setters[node.Chassis]{Resource: "chassis"}

func chassisRecord(c *node.Chassis) *node.Record { return &c.Record }

// chassisResource is the chassis (Ironic api/controllers/v1/chassis.py).
var chassisResource = resource[node.Chassis]{
	noun: "chassis", path: "chassis", items: "chassis", param: "chassis",
	defaults: []string{"uuid", "description"}, detail: 43,
	record: chassisRecord, fresh: func() *node.Chassis { return &node.Chassis{} }, below: []collectionLink{{"nodes", 1}},
	attributes: append(recordFields(1, chassisSet, chassisRecord), format.Attributes[node.Chassis, node.Chassis]{
		{
			Name: "description", Since: 1, Value: func(c *node.Chassis) any { return format.OrNull(c.Description) },
			Set: chassisSet.Text("description", 255, func(c *node.Chassis) *string { return &c.Description }), Create: true, Patch: true,
		},
		{
			Name: "extra", Since: 1, Value: func(c *node.Chassis) any { return format.Dict(c.Extra) }, Nosort: true,
			Set: chassisSet.Dict("extra", func(c *node.Chassis) *map[string]any { return &c.Extra }), Create: true, Patch: true,
		},
	}...),
}

// listChassis answers GET /v1/chassis.
func (s *Server) listChassis(c *gin.Context) (int, any, error) {
	return s.chassisCollection(c, "chassis", false)
}

// listChassisDetail answers GET /v1/chassis/detail.
func (s *Server) listChassisDetail(c *gin.Context) (int, any, error) {
	return s.chassisCollection(c, "chassis/detail", true)
}

func (s *Server) chassisCollection(c *gin.Context, path string, detailed bool) (int, any, error) {
	l, err := chassisResource.read(c, s.MaxLimit, detailed)
	if err != nil {
		return 0, nil, err
	}
	all, err := s.Store.ChassisList(c.Request.Context(), l.page.Store())
	if err != nil {
		return 0, nil, err
	}
	return chassisResource.list(c, path, l, all)
}

// getChassis answers GET /v1/chassis/X.
func (s *Server) getChassis(c *gin.Context) (int, any, error) {
	return chassisResource.show(c, s.Store.Chassis)
}

// createChassis answers POST /v1/chassis.
func (s *Server) createChassis(c *gin.Context) (int, any, error) {
	made, err := chassisResource.posted(c)
	if err != nil {
		return 0, nil, err
	}
	if err := s.Store.CreateChassis(c.Request.Context(), made); err != nil {
		return 0, nil, err
	}
	return chassisResource.created(c, made)
}

// patchChassis answers PATCH /v1/chassis/X.
func (s *Server) patchChassis(c *gin.Context) (int, any, error) {
	p, err := chassisResource.patched(c, s.Store.Chassis)
	if err != nil {
		return 0, nil, err
	}
	changed, err := s.Store.UpdateChassis(c.Request.Context(), p.before.UUID, chassisResource.apply(p, nil))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, chassisResource.whole(c, changed), nil
}

// deleteChassis answers DELETE /v1/chassis/X.
func (s *Server) deleteChassis(c *gin.Context) (int, any, error) {
	found, err := chassisResource.find(c, s.Store.Chassis)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.Store.DeleteChassis(c.Request.Context(), found.UUID)
}

// listChassisNodes answers GET /v1/chassis/X/nodes.
func (s *Server) listChassisNodes(c *gin.Context) (int, any, error) {
	return s.listNodesIn(c, c.Param("chassis"), "chassis/"+c.Param("chassis")+"/nodes")
}

// listChassisNodesDetail answers GET /v1/chassis/X/nodes/detail.
func (s *Server) listChassisNodesDetail(c *gin.Context) (int, any, error) {
	return s.listNodesDetailIn(c, c.Param("chassis"), "chassis/"+c.Param("chassis")+"/nodes/detail")
}

// checkChassis refuses a chassis that a node can't be in, because there is none of that uuid.
func (s *Server) checkChassis(ctx context.Context, uuid string) error {
	if uuid == "" {
		return nil
	}
	_, err := s.Store.Chassis(ctx, uuid)
	return format.NotFoundIsInvalid(err)
}
