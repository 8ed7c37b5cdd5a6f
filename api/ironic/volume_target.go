package ironic

import (
	"cmp"
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

var volumeTargetSet = format.Setters[node.VolumeTarget]{Resource: "volume target"}

func targetRecord(v *node.VolumeTarget) *node.Record { return &v.Record }

// volumeTargetResource is the volume target (Ironic api/controllers/v1/volume_target.py).
var volumeTargetResource = resource[node.VolumeTarget]{
	noun: "volume target", path: "volume/targets", items: "targets", param: "target",
	defaults: []string{"uuid", "node_uuid", "volume_type", "boot_index", "volume_id"},
	required: []string{"boot_index", "node_uuid", "volume_id", "volume_type"}, detail: minorVolume,
	redact: redactTarget, record: targetRecord, fresh: func() *node.VolumeTarget { return &node.VolumeTarget{} },
	attributes: append(recordFields(minorVolume, volumeTargetSet, targetRecord), format.Attributes[node.VolumeTarget, node.VolumeTarget]{
		{
			Name: "boot_index", Since: minorVolume, Value: func(v *node.VolumeTarget) any { return v.BootIndex },
			Set: volumeTargetSet.Integer("boot_index", func(v *node.VolumeTarget) *int { return &v.BootIndex }), Create: true, Patch: true,
		},
		{
			Name: "extra", Since: minorVolume, Value: func(v *node.VolumeTarget) any { return format.Dict(v.Extra) }, Nosort: true,
			Set: volumeTargetSet.Dict("extra", func(v *node.VolumeTarget) *map[string]any { return &v.Extra }), Create: true, Patch: true,
		},
		{
			Name: "node_uuid", Since: minorVolume, Value: func(v *node.VolumeTarget) any { return v.NodeUUID },
			Set: ownerField(volumeTargetSet, func(v *node.VolumeTarget) *string { return &v.NodeUUID }), Create: true, Patch: true,
		},
		{
			Name: "properties", Since: minorVolume, Value: func(v *node.VolumeTarget) any { return format.Dict(v.Properties) }, Nosort: true,
			Set: volumeTargetSet.Dict("properties", func(v *node.VolumeTarget) *map[string]any { return &v.Properties }), Create: true, Patch: true,
		},
		{
			Name: "volume_id", Since: minorVolume, Value: func(v *node.VolumeTarget) any { return v.VolumeID },
			Set: volumeTargetSet.Required("volume_id", 36, func(v *node.VolumeTarget) *string { return &v.VolumeID }), Create: true, Patch: true,
		},
		{
			Name: "volume_type", Since: minorVolume, Value: func(v *node.VolumeTarget) any { return v.VolumeType },
			Set: volumeTargetSet.Required("volume_type", 64, func(v *node.VolumeTarget) *string { return &v.VolumeType }), Create: true, Patch: true,
		},
	}...),
}

// redactTarget hides how a target is reached, in Ironic's words, from those who may not read it.
func redactTarget(c *gin.Context, v *node.VolumeTarget) {
	if !access.VolumeGetProperties.AllowsAll(httpd.IdentityOf(c)) {
		v.Properties = map[string]any{
			"redacted_contents": "** Value redacted: Requires permission baremetal:volume:view_target_properties access. Permission denied. **",
		}
	}
}

// hideProperties takes the secrets out of the properties. Where the mask stands, the secret of before stays.
func hideProperties(before, v *node.VolumeTarget) error {
	shown, secrets, err := intent.MaskDict("properties", v.Properties, before.Hidden.Clear)
	if err != nil {
		return cmp.Or(before.Hidden.Unreadable, err)
	}
	v.Properties, v.Hidden = shown, node.Hidden{Clear: secrets}
	return nil
}

// listVolumeTargets answers GET /v1/volume/targets and GET /v1/nodes/X/volume/targets.
func (s *Server) listVolumeTargets(c *gin.Context) (int, any, error) {
	l, path, of, err := volumesOf(s, c, &volumeTargetResource)
	if err != nil {
		return 0, nil, err
	}
	all, err := s.Store.VolumeTargets(c.Request.Context(), of, l.page.Of(httpd.View(c, access.VolumeGet)))
	if err != nil {
		return 0, nil, err
	}
	return volumeTargetResource.list(c, path, l, all)
}

// getVolumeTarget answers GET /v1/volume/targets/X.
func (s *Server) getVolumeTarget(c *gin.Context) (int, any, error) {
	return volumeTargetResource.show(c, s.Store.VolumeTarget)
}

// createVolumeTarget answers POST /v1/volume/targets.
func (s *Server) createVolumeTarget(c *gin.Context) (int, any, error) {
	v, err := volumeTargetResource.posted(c)
	if err != nil {
		return 0, nil, err
	}
	if _, err := s.VisibleFor(c, v.NodeUUID, access.VolumeCreate); err != nil {
		return 0, nil, format.NotFoundIsInvalid(err)
	}
	if err := hideProperties(&node.VolumeTarget{}, v); err != nil {
		return 0, nil, err
	}
	if err := s.Store.CreateVolumeTarget(c.Request.Context(), v); err != nil {
		return 0, nil, format.NotFoundIsInvalid(err)
	}
	return volumeTargetResource.created(c, v)
}

// patchVolumeTarget answers PATCH /v1/volume/targets/X.
func (s *Server) patchVolumeTarget(c *gin.Context) (int, any, error) {
	p, err := volumeTargetResource.patched(c, s.Store.VolumeTarget)
	if err != nil {
		return 0, nil, err
	}
	if err := s.permitMove(c, p.before.NodeUUID, p.after.NodeUUID, access.VolumeCreate); err != nil {
		return 0, nil, err
	}
	var v *node.VolumeTarget
	err = s.changeVolume(c, "volume target update", func(ctx context.Context, allow func(*node.Node) error) (err error) {
		v, err = s.Store.UpdateVolumeTarget(ctx, p.before.UUID, p.after.NodeUUID, func(n *node.Node, v *node.VolumeTarget) error {
			if err := allow(n); err != nil {
				return err
			}
			return volumeTargetResource.apply(p, hideProperties)(v)
		})
		return err
	})
	if err != nil {
		return 0, nil, nodeNotFoundIsInvalid(err)
	}
	return http.StatusOK, volumeTargetResource.whole(c, v), nil
}

// deleteVolumeTarget answers DELETE /v1/volume/targets/X.
func (s *Server) deleteVolumeTarget(c *gin.Context) (int, any, error) {
	v, err := volumeTargetResource.find(c, s.Store.VolumeTarget)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.changeVolume(c, "volume target deletion", func(ctx context.Context, allow func(*node.Node) error) error {
		return s.Store.DeleteVolumeTarget(ctx, v.UUID, v.NodeUUID, allow)
	})
}
