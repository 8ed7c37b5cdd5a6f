package store

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

var volumeConnectors = newRecords(
	records[node.VolumeConnector]{
		name: "volume_connectors", what: "volume connector", missing: "Volume connector %s could not be found.", event: "volumeconnector",
		record: func(v *node.VolumeConnector) *node.Record { return &v.Record },
		node:   func(v *node.VolumeConnector) *string { return &v.NodeUUID },
	},
	text("type", func(v *node.VolumeConnector) *string { return &v.Type }).by(onCreate|onPatch).sorted("r"),
	text("connector_id", func(v *node.VolumeConnector) *string { return &v.ConnectorID }).by(onCreate|onPatch).sorted("r"),
	dictionary("extra", func(v *node.VolumeConnector) *map[string]any { return &v.Extra }).by(onCreate|onPatch),
)

var volumeTargets = newRecords(
	records[node.VolumeTarget]{
		name: "volume_targets", what: "volume target", missing: "Volume target %s could not be found.", event: "volumetarget",
		record: func(v *node.VolumeTarget) *node.Record { return &v.Record },
		node:   func(v *node.VolumeTarget) *string { return &v.NodeUUID },
		hidden: func(v *node.VolumeTarget) *node.Hidden { return &v.Hidden },
	},
	text("volume_type", func(v *node.VolumeTarget) *string { return &v.VolumeType }).by(onCreate|onPatch).sorted("r"),
	text("volume_id", func(v *node.VolumeTarget) *string { return &v.VolumeID }).by(onCreate|onPatch).sorted("r"),
	integer("boot_index", func(v *node.VolumeTarget) *int { return &v.BootIndex }).by(onCreate|onPatch).sorted("r"),
	dictionary("properties", func(v *node.VolumeTarget) *map[string]any { return &v.Properties }).by(onCreate|onPatch),
	dictionary("extra", func(v *node.VolumeTarget) *map[string]any { return &v.Extra }).by(onCreate|onPatch),
)

// VolumeConnectors is a page of the volume connectors of a node, a uuid or name, or of all nodes (nil).
func (s *Store) VolumeConnectors(ctx context.Context, ofNode *string, p node.Page) ([]node.VolumeConnector, error) {
	return volumeConnectors.ofNode(ctx, s, ofNode, p)
}

// VolumeConnector is the volume connector of that uuid.
func (s *Store) VolumeConnector(ctx context.Context, uuid string) (*node.VolumeConnector, error) {
	return volumeConnectors.find(ctx, s, uuid)
}

// CreateVolumeConnector inserts a volume connector of the node NodeUUID. It fills in UUID where there is none, ID and CreatedAt.
func (s *Store) CreateVolumeConnector(ctx context.Context, v *node.VolumeConnector) error {
	return volumeConnectors.create(ctx, s, v)
}

// UpdateVolumeConnector edits a volume connector while its row and that of a node are locked: the node of, a uuid, to which it belongs before or
// after the change. NodeUUID may be changed too.
func (s *Store) UpdateVolumeConnector(ctx context.Context, uuid, of string, edit func(*node.Node, *node.VolumeConnector) error) (*node.VolumeConnector, error) {
	return volumeConnectors.updateUnder(ctx, s, uuid, &underNode{uuid: of}, edit)
}

// DeleteVolumeConnector removes the volume connector of that uuid if allow says so, while the row of its node is locked, whose uuid is of.
func (s *Store) DeleteVolumeConnector(ctx context.Context, uuid, of string, allow func(*node.Node) error) error {
	return volumeConnectors.deleteUnder(ctx, s, uuid, &underNode{uuid: of}, allow)
}

// VolumeTargets is a page of the volume targets of a node, a uuid or name, or of all nodes (nil). Hidden is not read.
func (s *Store) VolumeTargets(ctx context.Context, ofNode *string, p node.Page) ([]node.VolumeTarget, error) {
	return volumeTargets.ofNode(ctx, s, ofNode, p)
}

// VolumeTarget is the volume target of that uuid.
func (s *Store) VolumeTarget(ctx context.Context, uuid string) (*node.VolumeTarget, error) {
	return volumeTargets.find(ctx, s, uuid)
}

// CreateVolumeTarget inserts a volume target of the node NodeUUID, and seals its secrets. It fills in UUID where there is none, ID and
// CreatedAt.
func (s *Store) CreateVolumeTarget(ctx context.Context, v *node.VolumeTarget) error {
	return volumeTargets.create(ctx, s, v)
}

// UpdateVolumeTarget edits a volume target while its row and that of a node are locked: the node of, a uuid, to which it belongs before or
// after the change. NodeUUID and the secrets may be changed too.
func (s *Store) UpdateVolumeTarget(ctx context.Context, uuid, of string, edit func(*node.Node, *node.VolumeTarget) error) (*node.VolumeTarget, error) {
	return volumeTargets.updateUnder(ctx, s, uuid, &underNode{uuid: of}, edit)
}

// DeleteVolumeTarget removes the volume target of that uuid if allow says so, while the row of its node is locked, whose uuid is of.
func (s *Store) DeleteVolumeTarget(ctx context.Context, uuid, of string, allow func(*node.Node) error) error {
	return volumeTargets.deleteUnder(ctx, s, uuid, &underNode{uuid: of}, allow)
}
