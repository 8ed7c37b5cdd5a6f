package ironic

import (
	"context"

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

// chassis answers the requests for chassis.
func (s *Server) chassis() *shelf[node.Chassis] {
	return &shelf[node.Chassis]{
		resource: &chassisResource, maxLimit: s.MaxLimit,
		all: s.Store.ChassisList, one: s.Store.Chassis, create: s.Store.CreateChassis, update: s.Store.UpdateChassis, remove: s.Store.DeleteChassis,
	}
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
