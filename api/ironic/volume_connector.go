package ironic

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

var volumeConnectorSet = format.Setters[node.VolumeConnector]{Resource: "volume connector"}

func connectorRecord(v *node.VolumeConnector) *node.Record { return &v.Record }

// volumeConnectorResource is the volume connector (Ironic api/controllers/v1/volume_connector.py).
var volumeConnectorResource = resource[node.VolumeConnector]{
	noun: "volume connector", path: "volume/connectors", items: "connectors", param: "connector",
	defaults: []string{"uuid", "node_uuid", "type", "connector_id"}, required: []string{"connector_id", "node_uuid", "type"}, detail: minorVolume,
	record: connectorRecord, fresh: func() *node.VolumeConnector { return &node.VolumeConnector{} },
	attributes: append(recordFields(minorVolume, volumeConnectorSet, connectorRecord), format.Attributes[node.VolumeConnector, node.VolumeConnector]{
		{
			Name: "connector_id", Since: minorVolume, Value: func(v *node.VolumeConnector) any { return v.ConnectorID },
			Set: volumeConnectorSet.Required("connector_id", 255, func(v *node.VolumeConnector) *string { return &v.ConnectorID }), Create: true, Patch: true,
		},
		{
			Name: "extra", Since: minorVolume, Value: func(v *node.VolumeConnector) any { return format.Dict(v.Extra) }, Nosort: true,
			Set: volumeConnectorSet.Dict("extra", func(v *node.VolumeConnector) *map[string]any { return &v.Extra }), Create: true, Patch: true,
		},
		{
			Name: "node_uuid", Since: minorVolume, Value: func(v *node.VolumeConnector) any { return v.NodeUUID },
			Set: ownerField(volumeConnectorSet, func(v *node.VolumeConnector) *string { return &v.NodeUUID }), Create: true, Patch: true,
		},
		{
			Name: "type", Since: minorVolume, Value: func(v *node.VolumeConnector) any { return v.Type },
			Set: volumeConnectorSet.Required("type", 32, func(v *node.VolumeConnector) *string { return &v.Type }), Create: true, Patch: true,
		},
	}...),
}

// listVolumeConnectors answers GET /v1/volume/connectors and GET /v1/nodes/X/volume/connectors.
func (s *Server) listVolumeConnectors(c *gin.Context) (int, any, error) {
	l, path, of, err := volumesOf(s, c, &volumeConnectorResource)
	if err != nil {
		return 0, nil, err
	}
	all, err := s.Store.VolumeConnectors(c.Request.Context(), of, l.page.Of(httpd.View(c, access.VolumeGet)))
	if err != nil {
		return 0, nil, err
	}
	return volumeConnectorResource.list(c, path, l, all)
}

// getVolumeConnector answers GET /v1/volume/connectors/X.
func (s *Server) getVolumeConnector(c *gin.Context) (int, any, error) {
	return volumeConnectorResource.show(c, s.Store.VolumeConnector)
}

// createVolumeConnector answers POST /v1/volume/connectors.
func (s *Server) createVolumeConnector(c *gin.Context) (int, any, error) {
	v, err := volumeConnectorResource.posted(c)
	if err != nil {
		return 0, nil, err
	}
	if _, err := s.VisibleFor(c, v.NodeUUID, access.VolumeCreate); err != nil {
		return 0, nil, format.NotFoundIsInvalid(err)
	}
	if err := s.Store.CreateVolumeConnector(c.Request.Context(), v); err != nil {
		return 0, nil, format.NotFoundIsInvalid(err)
	}
	return volumeConnectorResource.created(c, v)
}

// patchVolumeConnector answers PATCH /v1/volume/connectors/X.
func (s *Server) patchVolumeConnector(c *gin.Context) (int, any, error) {
	p, err := volumeConnectorResource.patched(c, s.Store.VolumeConnector)
	if err != nil {
		return 0, nil, err
	}
	if err := s.permitMove(c, p.before.NodeUUID, p.after.NodeUUID, access.VolumeCreate); err != nil {
		return 0, nil, err
	}
	var v *node.VolumeConnector
	err = s.changeVolume(c, "volume connector update", func(ctx context.Context, allow func(*node.Node) error) (err error) {
		v, err = s.Store.UpdateVolumeConnector(ctx, p.before.UUID, p.after.NodeUUID, func(n *node.Node, v *node.VolumeConnector) error {
			if err := allow(n); err != nil {
				return err
			}
			return volumeConnectorResource.apply(p, nil)(v)
		})
		return err
	})
	if err != nil {
		return 0, nil, nodeNotFoundIsInvalid(err)
	}
	return http.StatusOK, volumeConnectorResource.whole(c, v), nil
}

// deleteVolumeConnector answers DELETE /v1/volume/connectors/X.
func (s *Server) deleteVolumeConnector(c *gin.Context) (int, any, error) {
	v, err := volumeConnectorResource.find(c, s.Store.VolumeConnector)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.changeVolume(c, "volume connector deletion", func(ctx context.Context, allow func(*node.Node) error) error {
		return s.Store.DeleteVolumeConnector(ctx, v.UUID, v.NodeUUID, allow)
	})
}
